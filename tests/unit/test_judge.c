/* sources: tests/certify/judge.c tests/truth/ */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../certify/judge.h"

static const DLDataType I32 = {kDLInt, 32, 1};
static const DLDataType F16 = {kDLFloat, 16, 1};
static const DLDataType BF16 = {kDLBfloat, 16, 1};
static const DLDataType F32 = {kDLFloat, 32, 1};
static const DLDataType F64 = {kDLFloat, 64, 1};

static const judge_limits STRICT = {0, -1, -1};

/* An output of a softmax-like op over 6 rows of 37: its truth as doubles, and
 * the tensor as f32 with a gap between rows. */
enum { ROWS = 6, COLS = 37, PITCH = 40, COUNT = ROWS * COLS };

typedef struct sample {
    double want[COUNT];
    float got[ROWS * PITCH];
    int64_t shape[2];
    int64_t strides[2];
    DLTensor tensor;
} sample;

static double value_at(int i)
{
    return exp(-0.37 * (i % 101)) * (i % 3 ? 1 : -1.7);
}

static void sample_make(sample *s)
{
    s->shape[0] = ROWS;
    s->shape[1] = COLS;
    s->strides[0] = PITCH;
    s->strides[1] = 1;
    s->tensor = (DLTensor){.data = s->got, .ndim = 2, .dtype = F32};
    s->tensor.shape = s->shape;
    s->tensor.strides = s->strides;
    for (int i = 0; i < ROWS * PITCH; i++)
        s->got[i] = NAN; /* the gaps are not judged */
    for (int i = 0; i < COUNT; i++) {
        s->want[i] = value_at(i);
        s->got[i / COLS * PITCH + i % COLS] = (float)s->want[i];
    }
}

static float *at(sample *s, int row, int col)
{
    return &s->got[row * PITCH + col];
}

static double share(const sample *s, const judge_limits *limits)
{
    judge_report report;
    judge_tensor(&s->tensor, s->want, limits, &report);
    assert_int_equal(report.elements, COUNT);
    return report.share;
}

static const judge_limits USUAL = {4, 1e-7, 1e-6};

static void test_accepts_truth(void **state)
{
    (void)state;
    sample s;
    sample_make(&s);
    assert_true(share(&s, &STRICT) <= 1);
    assert_true(share(&s, &USUAL) <= 1 / 9.0 + 1e-6);
}

static void test_refuses_zeros(void **state)
{
    (void)state;
    sample s;
    sample_make(&s);
    memset(s.got, 0, sizeof s.got);
    assert_true(share(&s, &USUAL) > 1);
}

static void test_refuses_nan_and_inf(void **state)
{
    (void)state;
    sample s;
    judge_report report;
    sample_make(&s);
    *at(&s, 2, 5) = NAN;
    judge_tensor(&s.tensor, s.want, &USUAL, &report);
    assert_true(isinf(report.share));
    assert_int_equal(report.index, 2 * COLS + 5);
    assert_int_equal(report.nan_mismatches, 1);
    sample_make(&s);
    s.want[7] = NAN;
    assert_true(isinf(share(&s, &USUAL)));
    sample_make(&s);
    *at(&s, 5, 36) = -INFINITY;
    judge_tensor(&s.tensor, s.want, &USUAL, &report);
    assert_true(report.share > 1);
    assert_int_equal(report.index, 5 * COLS + 36);
    assert_int_equal(report.inf_mismatches, 1);
}

static void test_refuses_shifted_row(void **state)
{
    (void)state;
    sample s;
    sample_make(&s);
    memmove(at(&s, 3, 0), at(&s, 3, 1), (COLS - 1) * sizeof(float));
    assert_true(share(&s, &USUAL) > 1);
}

static void test_refuses_dropped_tail(void **state)
{
    (void)state;
    sample s;
    sample_make(&s);
    for (int col = 32; col < COLS; col++)
        *at(&s, 0, col) = 0;
    assert_true(share(&s, &USUAL) > 1);
}

static void test_refuses_wrong_last_column(void **state)
{
    (void)state;
    sample s;
    sample_make(&s);
    for (int row = 0; row < ROWS; row++)
        *at(&s, row, COLS - 1) *= 1.00001f;
    assert_true(share(&s, &USUAL) > 1);
}

/* exp of inputs that went through bf16, against exp of the inputs. */
static void test_refuses_bf16_input(void **state)
{
    (void)state;
    double want[64];
    float got[64];
    int64_t n = 64;
    judge_report report;
    for (int i = 0; i < 64; i++) {
        double x = 0.0371 * i;
        want[i] = exp(x);
        got[i] = (float)exp(truth_round(BF16, x));
    }
    DLTensor t = {.data = got, .ndim = 1, .dtype = F32, .shape = &n};
    judge_limits loose = {100, 1e-4, -1};
    judge_tensor(&t, want, &loose, &report);
    assert_true(report.share > 1);
}

/* --- single elements ------------------------------------------------------ */

static judge_report judge_one(DLDataType type, double got, double want,
                              judge_limits limits)
{
    unsigned char room[8];
    judge_report report;
    DLTensor t = {.data = room, .dtype = type};
    truth_write(&t, 0, got);
    judge_tensor(&t, &want, &limits, &report);
    return report;
}

static bool passes(DLDataType type, double got, double want,
                   judge_limits limits)
{
    return judge_one(type, got, want, limits).share <= 1;
}

static void test_units(void **state)
{
    (void)state;
    judge_limits one = {1, -1, -1};
    double up = 1 + 0x1p-23;
    assert_true(passes(F32, 1, 1 + 0x1p-24, STRICT)); /* a tie, either way */
    assert_true(passes(F32, up, 1 + 0x1p-24, STRICT));
    assert_false(passes(F32, up, 1 + 0x0.FFFp-24, STRICT));
    assert_true(passes(F32, 1 + 0x1p-22, up, one));
    assert_false(passes(F32, 1 + 0x1.8p-22, up - 0x1p-25, one));
    assert_true(passes(F16, 1 + 0x1p-10, 1, one));
    assert_false(passes(F16, 1 + 0x1p-9, 1, one));
    assert_true(passes(BF16, 1 + 0x1p-7, 1, one));
    assert_false(passes(BF16, 1 + 0x1p-6, 1, one));
    assert_true(passes(F64, 1 + 0x1p-52, 1, one));
    assert_false(passes(F64, 1 + 0x1p-51, 1, one));
    /* subnormals: spacing 2^-149, also just at the least normal number */
    assert_true(passes(F32, 0, 0x1p-149, one));
    assert_false(passes(F32, 0, 0x1p-148, one));
    assert_true(passes(F32, 0x1p-126 + 0x1p-149, 0x1p-126, one));
    assert_false(passes(F32, 0x1p-126 + 0x1p-148, 0x1p-126, one));
    assert_true(passes(F32, -0.0, 0, STRICT));
    assert_true(fabs(judge_one(F32, 3, 1, one).max_ulp - 0x1p24) == 0);
}

static void test_absolute(void **state)
{
    (void)state;
    judge_limits loose = {0, 1e-3, -1};
    judge_limits only = {-1, 1e-3, -1};
    assert_true(passes(F32, 1.0009, 1, loose));
    assert_false(passes(F32, 1.0011, 1, loose));
    assert_true(passes(F32, 1.0009, 1, only));
    assert_false(passes(F32, 1e6 + 0.0625, 1e6, only));
    assert_true(fabs(judge_one(F32, 1.0005, 1, only).share - 0.5) < 1e-3);
    assert_true(judge_one(F32, 1.5, 1, only).max_abs == 0.5);
}

static void test_infinities(void **state)
{
    (void)state;
    judge_limits one = {1, -1, -1};
    judge_limits huge = {1e6, 1e6, -1};
    assert_true(passes(F32, INFINITY, INFINITY, STRICT));
    assert_true(passes(F32, INFINITY, 1e39, STRICT)); /* beyond the largest */
    assert_true(passes(F16, -INFINITY, -70000, STRICT));
    assert_true(passes(F64, -INFINITY, -INFINITY, STRICT));
    assert_false(passes(F32, -INFINITY, INFINITY, huge));
    assert_false(passes(F32, -INFINITY, 1e39, huge));
    assert_false(passes(F32, FLT_MAX, INFINITY, huge));
    assert_false(passes(F64, DBL_MAX, INFINITY, huge));
    assert_false(passes(F32, INFINITY, 1, huge));
    assert_false(passes(F64, INFINITY, 1e307, one));
    /* one unit past the largest, by a kernel that rounds the other way */
    assert_true(passes(F16, INFINITY, 65519.9, one));
    assert_false(passes(F16, INFINITY, 65519.9, STRICT));
    assert_true(passes(F16, 65504, 65520.1, one));
    assert_false(passes(F16, 65472, 65535, one));
    assert_true(passes(F64, INFINITY, DBL_MAX, one));
}

static void test_nan(void **state)
{
    (void)state;
    judge_limits huge = {1e6, 1e6, 1e6};
    assert_true(passes(F32, NAN, NAN, STRICT));
    assert_true(passes(F16, NAN, -NAN, STRICT));
    assert_false(passes(F64, NAN, 0, huge));
    assert_false(passes(BF16, 0, NAN, huge));
    assert_false(passes(F32, NAN, INFINITY, huge));
}

static void test_integers(void **state)
{
    (void)state;
    judge_limits huge = {1e6, 1e6, -1};
    assert_true(passes(I32, -7, -7, huge));
    assert_false(passes(I32, -7, -6, huge));
}

/* Each element within its abs limit, all of them off to one side. */
static void test_l2(void **state)
{
    (void)state;
    double want[100];
    float got[100];
    int64_t n = 100;
    judge_report report;
    for (int i = 0; i < 100; i++) {
        want[i] = i % 2 ? 1 : -1;
        got[i] = (float)want[i] * 1.001f;
    }
    got[3] = INFINITY;
    want[3] = INFINITY;
    DLTensor t = {.data = got, .ndim = 1, .dtype = F32, .shape = &n};
    judge_limits limits = {0, 1e-2, 1e-4};
    judge_tensor(&t, want, &limits, &report);
    assert_true(fabs(report.l2 - 1e-3) < 1e-6);
    assert_true(fabs(report.share - 10) < 1e-2);
    assert_int_equal(report.index, -1);
    limits.l2 = 2e-3;
    judge_tensor(&t, want, &limits, &report);
    assert_true(fabs(report.share - 0.5) < 1e-2);
    /* rounding alone is no l2 error, also among subnormals */
    want[0] = 1.3e-45;
    t.shape = &(int64_t){1};
    got[0] = (float)want[0];
    limits.l2 = 0;
    judge_tensor(&t, want, &limits, &report);
    assert_true(report.share <= 1);
}

/* Two threads: the worst and its place, in either half. */
static void test_large(void **state)
{
    (void)state;
    int64_t n = 200001;
    float *got = malloc((size_t)n * sizeof *got);
    double *want = malloc((size_t)n * sizeof *want);
    judge_report report;
    for (int64_t place = 5; place < n; place += 199990) {
        for (int64_t i = 0; i < n; i++)
            got[i] = (float)(want[i] = (double)i + 0.1);
        got[place] *= 1.01f;
        got[100] *= 1.0001f;
        DLTensor t = {.data = got, .ndim = 1, .dtype = F32, .shape = &n};
        judge_tensor(&t, want, &USUAL, &report);
        assert_int_equal(report.index, place);
        assert_true(report.share > 1);
    }
    free(got);
    free(want);
}

static void test_parse(void **state)
{
    (void)state;
    judge_limits l;
    char why[200];
    assert_true(judge_limits_parse("ulp=4;abs=1e-7;l2=", &l, why, sizeof why));
    assert_true(l.ulp == 4 && l.abs == 1e-7 && l.l2 < 0);
    assert_true(judge_limits_parse("ulp=0;abs=;l2=0.5", &l, why, sizeof why));
    assert_true(l.ulp == 0 && l.abs < 0 && l.l2 == 0.5);
    assert_true(judge_limits_parse("abs=1", &l, why, sizeof why));
    assert_false(judge_limits_parse("", &l, why, sizeof why));
    assert_false(judge_limits_parse("ulp=;abs=;l2=1", &l, why, sizeof why));
    assert_false(judge_limits_parse("ulp=x;abs=1", &l, why, sizeof why));
    assert_false(judge_limits_parse("ulp=1 ", &l, why, sizeof why));
    assert_false(judge_limits_parse("ulp=-1", &l, why, sizeof why));
    assert_false(judge_limits_parse("ulp=nan", &l, why, sizeof why));
    assert_false(judge_limits_parse("ulps=1", &l, why, sizeof why));
    assert_non_null(strstr(why, "ulps=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_truth),
        cmocka_unit_test(test_refuses_zeros),
        cmocka_unit_test(test_refuses_nan_and_inf),
        cmocka_unit_test(test_refuses_shifted_row),
        cmocka_unit_test(test_refuses_dropped_tail),
        cmocka_unit_test(test_refuses_wrong_last_column),
        cmocka_unit_test(test_refuses_bf16_input),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_infinities),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_l2),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
