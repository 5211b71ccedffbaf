/* sources: tests/certify/call.c tests/certify/guard.c tests/certify/fill.c
 * tests/truth/ */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../certify/call.h"
#include "../certify/fill.h"

static call parsed;

static void parse(const char *text)
{
    char why[300] = "";
    if (!call_parse(&parsed, text, why, sizeof why))
        fail_msg("%s", why);
}

static void refuse(const char *text, const char *word)
{
    char why[300] = "";
    assert_false(call_parse(&parsed, text, why, sizeof why));
    if (!strstr(why, word) || !strstr(why, "call \""))
        fail_msg("\"%s\" does not name %s", why, word);
}

static void assert_dims(const int64_t *got, int n, const char *want)
{
    char text[100] = "";
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%d ", (int)got[i]);
    assert_string_equal(text, want);
}

static void test_tensors(void **state)
{
    (void)state;
    parse("softmax x=f16[3,17] y=f32[3,17]:[20,1]+3 dim=-1 log=false");
    assert_string_equal(parsed.op, "softmax");
    assert_int_equal(parsed.n_tensors, 2);
    const DLTensor *x = parsed.list[0];
    const DLTensor *y = parsed.list[1];
    assert_string_equal(parsed.tensors[0].name, "x");
    assert_int_equal(x->dtype.code, kDLFloat);
    assert_int_equal(x->dtype.bits, 16);
    assert_int_equal(x->ndim, 2);
    assert_dims(x->shape, 2, "3 17 ");
    assert_dims(x->strides, 2, "17 1 ");
    assert_int_equal(x->byte_offset, 0);
    assert_null(x->data);
    assert_dims(y->strides, 2, "20 1 ");
    assert_int_equal(y->byte_offset, 12);
    assert_string_equal(
        parsed.text,
        "softmax x=f16[3,17] y=f32[3,17]:[20,1]+3 dim=-1 log=false");
}

static void test_shapes(void **state)
{
    (void)state;
    parse("op a=f32[] b=bool[0,3] c=i64[2,2]:[0,-1]+1 d=bf16[4]+0");
    assert_int_equal(parsed.list[0]->ndim, 0);
    assert_dims(parsed.list[1]->shape, 2, "0 3 ");
    assert_dims(parsed.list[2]->strides, 2, "0 -1 ");
    assert_int_equal(parsed.list[2]->byte_offset, 8);
    assert_int_equal(parsed.list[3]->dtype.code, kDLBfloat);
}

static void test_attrs(void **state)
{
    (void)state;
    parse("gelu x=f32[2] y=f32[2] approximate=none a=true b=-3 c=1.5 d=1e-5 "
          "e=tanh f=\"7\" g=9223372036854775807 h=-.5");
    assert_int_equal(parsed.n_tensors, 2);
    assert_int_equal(parsed.n_attrs, 9);
    const kiln_attr *a = parsed.attrs;
    assert_string_equal(a[0].name, "approximate");
    assert_int_equal(a[0].kind, KILN_ATTR_STRING);
    assert_string_equal(a[0].value.s, "none");
    assert_int_equal(a[1].kind, KILN_ATTR_BOOL);
    assert_int_equal(a[1].value.i, 1);
    assert_int_equal(a[2].kind, KILN_ATTR_INT);
    assert_int_equal(a[2].value.i, -3);
    assert_int_equal(a[3].kind, KILN_ATTR_FLOAT);
    assert_true(a[3].value.f == 1.5);
    assert_true(a[4].value.f == 1e-5);
    assert_string_equal(a[5].value.s, "tanh");
    assert_string_equal(a[6].value.s, "7");
    assert_true(a[7].value.i == INT64_MAX);
    assert_true(a[8].value.f == -0.5);
}

static void test_absent(void **state)
{
    (void)state;
    parse("norm x=f32[2] weight=none y=f32[2] mode=none");
    assert_int_equal(parsed.n_tensors, 3);
    assert_null(parsed.list[1]);
    assert_string_equal(parsed.tensors[1].name, "weight");
    assert_int_equal(parsed.n_attrs, 1);
}

static void test_refusals(void **state)
{
    (void)state;
    char text[CALL_TEXT + 10];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    refuse("", "no op");
    refuse("op x", "x");
    refuse("op =f32[2]", "NAME");
    refuse("op x=f31[2]", "dtype");
    refuse("op x=f32[2", "dims");
    refuse("op x=f32[2,]", "dims");
    refuse("op x=f32[2 ,3]", "dims");
    refuse("op x=f32[-2]", "negative");
    refuse("op x=f32[99999999999999999999]", "dims");
    refuse("op x=f32[4294967296,4294967296]", "too many");
    refuse("op x=f32[2]:[1,2]", "strides");
    refuse("op x=f32[2]+-1", "offset");
    refuse("op x=f32[2]+1z", "follows");
    refuse("op a=1 x=f32[2]", "after an attribute");
    refuse("op a=1x", "number");
    refuse("op a=99999999999999999999", "number");
    refuse("op a=", "no value");
    refuse("op x=f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "dims");
    refuse(text, "too long");
}

static void test_buffers(void **state)
{
    (void)state;
    call_buffers buffers = {0};
    int64_t low, high, at;
    parse("op x=f32[3,5]:[8,1]+2 y=bf16[3,5]:[-5,1]+10");
    call_extent(parsed.list[0], &low, &high);
    assert_int_equal(low, 8);
    assert_int_equal(high, 8 + 4 * 21);
    call_extent(parsed.list[1], &low, &high);
    assert_int_equal(low, 0);
    assert_int_equal(high, 30);
    for (int flush = 0; flush < 2; flush++) {
        assert_true(call_place(&parsed, &buffers, flush));
        guard *g = &buffers.guards[0];
        char *base = parsed.list[0]->data;
        guard_fill(g, 0xA5);
        assert_false(guard_find_other(g, 0xA5, &at));
        if (flush)
            assert_true(base + 92 == g->room + g->room_bytes);
        else
            assert_int_equal((uintptr_t)base % GUARD_ALIGN, 0);
        base[91] = 1;
        assert_true(guard_find_other(g, 0xA5, &at));
        assert_int_equal(at, 91);
    }
    call_release(&buffers);
}

static void test_gather_and_paint(void **state)
{
    (void)state;
    call_buffers buffers = {0};
    int64_t at;
    float dense[15];
    parse("op x=f32[3,5]:[1,4]+2 y=f32[3,5]:[8,1]+1");
    assert_true(call_place(&parsed, &buffers, true));
    for (int k = 0; k < 2; k++) {
        const DLTensor *t = parsed.list[k];
        guard_fill(&buffers.guards[k], 0xFF);
        for (int i = 0; i < 15; i++)
            truth_write(t, i, i * 1.5);
        call_gather(t, dense);
        for (int i = 0; i < 15; i++)
            assert_true(dense[i] == (float)i * 1.5f);
        assert_true(guard_find_other(&buffers.guards[k], 0xFF, &at));
        call_paint(t, 0xFF);
        assert_false(guard_find_other(&buffers.guards[k], 0xFF, &at));
    }
    call_release(&buffers);
}

/* --- inputs --------------------------------------------------------------- */

static void test_normal(void **state)
{
    (void)state;
    call_buffers buffers = {0};
    parse("op a=f32[300,500] b=f32[300,500]:[1,300] c=bool[300,500]");
    assert_true(call_place(&parsed, &buffers, false));
    double sum = 0, squares = 0, odds = 0;
    int64_t n = 300 * 500;
    for (int i = 0; i < 3; i++)
        fill_normal(parsed.list[i], 2, 7);
    for (int64_t i = 0; i < n; i++) {
        double v = truth_read(parsed.list[0], i);
        assert_true(v == truth_read(parsed.list[1], i));
        sum += v;
        squares += v * v;
        odds += truth_read(parsed.list[2], i);
    }
    assert_true(fabs(sum / (double)n) < 0.03);
    assert_true(fabs(squares / (double)n - 4) < 0.06);
    assert_true(fabs(odds / (double)n - 0.5) < 0.01);
    call_release(&buffers);
}

static int count_if(const DLTensor *t, int which)
{
    int count = 0;
    for (int64_t i = 0; i < truth_numel(t); i++) {
        double v = truth_read(t, i);
        count += which == 0   ? isnan(v) != 0
                 : which == 1 ? isinf(v) != 0
                 : which == 2 ? v == 0
                 : which == 3 ? fabs(v) == 65504
                              : fabs(v) == 0x1p-24;
    }
    return count;
}

static void test_special(void **state)
{
    (void)state;
    call_buffers buffers = {0};
    parse("op x=f16[4000]");
    assert_true(call_place(&parsed, &buffers, false));
    fill_special(parsed.list[0], 3);
    for (int which = 0; which < 5; which++) {
        int count = count_if(parsed.list[0], which);
        assert_in_range(count, 50, which == 1 ? 400 : 200);
    }
    call_release(&buffers);
}

/* At each place a multiple of the second input gives or takes the first, but
 * where it is large. */
static void test_cancelling(void **state)
{
    (void)state;
    const double factors[] = {1, -0.7};
    call_buffers buffers = {0};
    int large = 0;
    parse("op a=f64[4000] b=f64[4000]:[2]+1");
    assert_true(call_place(&parsed, &buffers, false));
    for (int i = 0; i < 2; i++)
        fill_cancelling(parsed.list[i], i == 0, factors, 2, 5);
    for (int64_t i = 0; i < 4000; i++) {
        double a = truth_read(parsed.list[0], i);
        double b = truth_read(parsed.list[1], i);
        double left = fabs(a), at_07 = fabs(fabs(0.7 * b) - left);
        double least = fmin(fabs(fabs(b) - left), at_07);
        if (left > 1e300)
            large++;
        else
            assert_true(least <= 0x1p-52 * left);
    }
    assert_in_range(large, 400, 600);
    call_release(&buffers);
}

static void test_rows(void **state)
{
    (void)state;
    call_buffers buffers = {0};
    parse("op x=f32[16,9,5]");
    assert_true(call_place(&parsed, &buffers, false));
    const DLTensor *x = parsed.list[0];
    fill_rows(x, 1, 0);
    for (int64_t row = 0; row < 80; row++) {
        int nan = 0, inf = 0;
        double least = INFINITY, most = -INFINITY;
        for (int64_t k = 0; k < 9; k++) {
            double v = truth_read(x, row / 5 * 45 + k * 5 + row % 5);
            nan += isnan(v) != 0;
            inf += isinf(v) != 0;
            least = fmin(least, v);
            most = fmax(most, v);
        }
        assert_int_equal(nan, row % 8 == 3);
        assert_true(row % 8 != 1 || isfinite(most));
        assert_true(row % 8 != 2 || (inf == 9 && most < 0));
        assert_true(row % 8 != 4 || (least > 9980 && most < 10020));
        assert_true(row % 8 != 6 || (inf == 1 && most > 0));
        assert_true(row % 8 != 7 || least == most);
    }
    call_release(&buffers);
}

static void test_raw(void **state)
{
    (void)state;
    int64_t n = 200000;
    float *data = calloc((size_t)n, sizeof *data);
    fill_raw((DLDataType){kDLFloat, 32, 1}, data, n, 1);
    int zeros = 0;
    for (int64_t i = 0; i < n; i++)
        zeros += data[i] == 0;
    assert_in_range(zeros, 0, 20);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_attrs),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_gather_and_paint),
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_raw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
