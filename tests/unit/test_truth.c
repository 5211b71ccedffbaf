/* sources: tests/truth/ */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../golden/golden_truth.h"
#include "../truth/truth.h"

#define COUNT(a) ((int64_t)(sizeof(a) / sizeof *(a)))

static const DLDataType BOOL = {kDLBool, 8, 1};
static const DLDataType I8 = {kDLInt, 8, 1};
static const DLDataType I64 = {kDLInt, 64, 1};
static const DLDataType F16 = {kDLFloat, 16, 1};
static const DLDataType BF16 = {kDLBfloat, 16, 1};
static const DLDataType F32 = {kDLFloat, 32, 1};
static const DLDataType F64 = {kDLFloat, 64, 1};

static DLTensor tensor(const void *data, DLDataType type, int ndim,
                       const int64_t *shape, const int64_t *strides)
{
    return (DLTensor){.data = (void *)(uintptr_t)data,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = type,
                      .shape = (int64_t *)(uintptr_t)shape,
                      .strides = (int64_t *)(uintptr_t)strides};
}

/* Steps of the f64 format between two numbers, or a great number. */
static double distance(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INFINITY;
    if (a == b)
        return 0;
    return fabs(a - b) / truth_ulp(F64, b);
}

static void assert_near(const double *got, const double *want, int64_t n,
                        double steps)
{
    for (int64_t i = 0; i < n; i++)
        if (!(distance(got[i], want[i]) <= steps))
            fail_msg("element %d: got %a, want %a", (int)i, got[i], want[i]);
}

/* op on one f64 input of n elements; out as f64. */
static void unary(const char *op, const kiln_attr *attr, const double *in,
                  int64_t n, DLDataType out_type, double *out)
{
    DLTensor x = tensor(in, F64, 1, &n, NULL);
    DLTensor y = tensor(NULL, out_type, 1, &n, NULL);
    const DLTensor *tensors[] = {&x, &y};
    int status = truth_eval(op, tensors, 2, attr, attr != NULL, 0, out);
    assert_int_equal(status, TRUTH_OK);
}

static kiln_attr string_attr(const char *name, const char *value)
{
    kiln_attr attr = {.name = name, .kind = KILN_ATTR_STRING};
    attr.value.s = value;
    return attr;
}

static void check_unary(const char *op, const kiln_attr *attr,
                        const double *exact, const double *special)
{
    double out[sizeof POINTS / sizeof *POINTS];
    unary(op, attr, POINTS, COUNT(POINTS), F64, out);
    assert_near(out, exact, COUNT(POINTS), 1);
    unary(op, attr, SPECIAL, COUNT(SPECIAL), F64, out);
    assert_near(out, special, COUNT(SPECIAL), 0);
}

static void test_unary(void **state)
{
    (void)state;
    kiln_attr form = string_attr("approximate", "tanh");
    kiln_attr none = string_attr("approximate", "none");
    check_unary("relu", NULL, RELU_EXACT, RELU_TORCH);
    check_unary("silu", NULL, SILU_EXACT, SILU_TORCH);
    check_unary("sigmoid", NULL, SIGMOID_EXACT, SIGMOID_TORCH);
    check_unary("tanh", NULL, TANH_EXACT, TANH_TORCH);
    check_unary("exp", NULL, EXP_EXACT, EXP_TORCH);
    check_unary("gelu", NULL, GELU_EXACT, GELU_TORCH);
    check_unary("gelu", &none, GELU_EXACT, GELU_TORCH);
    check_unary("gelu", &form, GELU_TANH_EXACT, GELU_TANH_TORCH);
}

/* For narrower outputs truth works in double: right to well below a rounding
 * of f32, wherever f32 and bf16 have normal numbers. */
static void test_unary_double(void **state)
{
    (void)state;
    static const char *const ops[] = {"silu", "sigmoid", "tanh", "exp", "gelu"};
    static const double *const exact[] = {SILU_EXACT, SIGMOID_EXACT, TANH_EXACT,
                                          EXP_EXACT, GELU_EXACT};
    double out[sizeof POINTS / sizeof *POINTS];
    for (int k = 0; k < 5; k++) {
        unary(ops[k], NULL, POINTS, COUNT(POINTS), F32, out);
        for (int64_t i = 0; i < COUNT(POINTS); i++)
            if (!(fabs(out[i] - exact[k][i]) <=
                  fabs(exact[k][i]) * 0x1p-40 + 1e-60) &&
                out[i] != exact[k][i])
                fail_msg("%s(%a): %a", ops[k], POINTS[i], out[i]);
    }
}

static void rows_eval(const char *op, const kiln_attr *attr, const double *in,
                      DLDataType type, double *out)
{
    int64_t shape[] = {5, 7};
    DLTensor x = tensor(in, F64, 2, shape, NULL);
    DLTensor y = tensor(NULL, type, 2, shape, NULL);
    const DLTensor *tensors[] = {&x, &y};
    int status = truth_eval(op, tensors, 2, attr, attr != NULL, 0, out);
    assert_int_equal(status, TRUTH_OK);
}

static void test_rows(void **state)
{
    (void)state;
    double out[35];
    kiln_attr log = {.name = "log", .kind = KILN_ATTR_BOOL, .value = {1}};
    rows_eval("softmax", NULL, ROWS, F64, out);
    assert_near(out, ROWS_SOFTMAX_EXACT, 35, 1);
    rows_eval("softmax", &log, ROWS, F64, out);
    assert_near(out, ROWS_LOG_EXACT, 35, 1);
    rows_eval("log_softmax", NULL, ROWS, F64, out);
    assert_near(out, ROWS_LOG_EXACT, 35, 1);
    rows_eval("softmax", NULL, ROWS_SPECIAL, F64, out);
    assert_near(out, ROWS_SOFTMAX_TORCH, 35, 4);
    rows_eval("log_softmax", NULL, ROWS_SPECIAL, F64, out);
    assert_near(out, ROWS_LOG_TORCH, 35, 4);
    rows_eval("softmax", NULL, ROWS, F32, out);
    for (int i = 0; i < 35; i++)
        assert_true(fabs(out[i] - ROWS_SOFTMAX_EXACT[i]) <=
                    1e-12 * ROWS_SOFTMAX_EXACT[i]);
    rows_eval("log_softmax", NULL, ROWS, F32, out);
    assert_near(out, ROWS_LOG_EXACT, 35, 64);
}

/* --- views --------------------------------------------------------------- */

static void to_floats(const double *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

static void test_view_rows(void **state)
{
    (void)state;
    static const double *const want[] = {
        VIEW_SOFTMAX_0,     VIEW_SOFTMAX_1,     VIEW_SOFTMAX_2,
        VIEW_LOG_SOFTMAX_0, VIEW_LOG_SOFTMAX_1, VIEW_LOG_SOFTMAX_2};
    int64_t shape[] = {3, 4, 5};
    int64_t strides[] = {1, 3, 12};
    float base[60];
    double out[60];
    to_floats(BASE, 60, base);
    DLTensor x = tensor(base, F32, 3, shape, strides);
    DLTensor y = tensor(NULL, F64, 3, shape, NULL);
    const DLTensor *tensors[] = {&x, &y};
    for (int64_t k = 0; k < 6; k++) {
        kiln_attr attrs[] = {{.name = "dim", .kind = KILN_ATTR_INT},
                             {.name = "log", .kind = KILN_ATTR_BOOL}};
        attrs[0].value.i = k % 3 - (k < 3 ? 0 : 3);
        attrs[1].value.i = k / 3;
        assert_int_equal(truth_eval("softmax", tensors, 2, attrs, 2, 0, out),
                         TRUTH_OK);
        assert_near(out, want[k], 60, 16);
    }
}

static void test_view_broadcast(void **state)
{
    (void)state;
    int64_t shape[] = {3, 4, 5};
    int64_t strides[] = {1, 3, 12};
    int64_t other_shape[] = {4, 1};
    float base[61];
    float other[4];
    bool positive[4];
    double out[60];
    to_floats(BASE, 60, base + 1);
    to_floats(OTHER, 4, other);
    for (int i = 0; i < 4; i++)
        positive[i] = other[i] > 0;
    DLTensor a = tensor(base, F32, 3, shape, strides);
    a.byte_offset = sizeof *base;
    DLTensor b = tensor(other, F32, 2, other_shape, NULL);
    DLTensor c = tensor(positive, BOOL, 2, other_shape, NULL);
    DLTensor y = tensor(NULL, F64, 3, shape, NULL);
    kiln_attr alpha = {.name = "alpha", .kind = KILN_ATTR_FLOAT};
    alpha.value.f = 0.5;
    const DLTensor *two[] = {&a, &b, &y};
    const DLTensor *three[] = {&c, &a, &b, &y};
    assert_int_equal(truth_eval("add", two, 3, &alpha, 1, 0, out), TRUTH_OK);
    assert_near(out, VIEW_ADD, 60, 1);
    assert_int_equal(truth_eval("mul", two, 3, NULL, 0, 0, out), TRUTH_OK);
    assert_near(out, VIEW_MUL, 60, 0);
    assert_int_equal(truth_eval("where", three, 4, NULL, 0, 0, out), TRUTH_OK);
    assert_near(out, VIEW_WHERE, 60, 0);
}

/* Attributes are of the type computed in: that of the widest tensor, or float.
 */
static void test_attribute_type(void **state)
{
    (void)state;
    const double wide = 3;
    const float one = 1;
    double out;
    kiln_attr alpha = {"alpha", KILN_ATTR_FLOAT, {.f = 0.1}};
    DLTensor a = tensor(&one, F32, 0, NULL, NULL);
    DLTensor b = tensor(&one, F32, 0, NULL, NULL);
    DLTensor y = tensor(NULL, F32, 0, NULL, NULL);
    const DLTensor *list[] = {&a, &b, &y};
    assert_int_equal(truth_eval("add", list, 3, &alpha, 1, 0, &out), TRUTH_OK);
    assert_true(out == 1 + (double)0.1f);
    a = tensor(&wide, F64, 0, NULL, NULL);
    y.dtype = a.dtype;
    assert_int_equal(truth_eval("add", list, 3, &alpha, 1, 0, &out), TRUTH_OK);
    assert_true(out == fma(0.1, 1, 3));
}

static void test_scalar_and_empty(void **state)
{
    (void)state;
    int64_t shape[] = {2, 0, 3};
    double value = -3;
    double out = 7;
    DLTensor x = tensor(&value, F64, 0, NULL, NULL);
    const DLTensor *tensors[] = {&x, &x};
    assert_int_equal(truth_eval("relu", tensors, 2, NULL, 0, 0, &out), 0);
    assert_true(out == 0);
    assert_int_equal(truth_eval("softmax", tensors, 2, NULL, 0, 0, &out), 0);
    assert_true(out == 1);
    x = tensor(NULL, F64, 3, shape, NULL);
    out = 7;
    assert_int_equal(truth_eval("relu", tensors, 2, NULL, 0, 0, &out), 0);
    assert_int_equal(truth_eval("softmax", tensors, 2, NULL, 0, 0, &out), 0);
    assert_true(out == 7);
}

/* Two threads and runs that do not divide: each element is its own truth. */
static void test_large(void **state)
{
    (void)state;
    int64_t shape[] = {67, 2003};
    int64_t n = shape[0] * shape[1];
    float *in = malloc((size_t)n * sizeof *in);
    double *out = malloc((size_t)n * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        in[i] = (float)(i % 1999) * 0.01f - 10;
    DLTensor x = tensor(in, F32, 2, shape, NULL);
    DLTensor y = tensor(NULL, F32, 2, shape, NULL);
    const DLTensor *tensors[] = {&x, &y};
    assert_int_equal(truth_eval("exp", tensors, 2, NULL, 0, 0, out), 0);
    for (int64_t i = 0; i < n; i++)
        assert_true(out[i] == exp((double)in[i]));
    assert_int_equal(truth_eval("softmax", tensors, 2, NULL, 0, 0, out), 0);
    for (int64_t r = 0; r < shape[0]; r++) {
        double sum = 0;
        for (int64_t c = 0; c < shape[1]; c++)
            sum += out[r * shape[1] + c];
        assert_true(fabs(sum - 1) < 1e-12);
    }
    free(in);
    free(out);
}

static void check_copy(DLDataType type, const double *want)
{
    double out[sizeof COPY / sizeof *COPY];
    unary("copy", NULL, COPY, COUNT(COPY), type, out);
    assert_near(out, want, COUNT(COPY), 0);
}

static void test_copy(void **state)
{
    (void)state;
    check_copy(BOOL, COPY_BOOL);
    check_copy(I8, COPY_I8);
    check_copy(I64, COPY_I64);
    check_copy(F16, COPY);
}

static void test_refusals(void **state)
{
    (void)state;
    int n_in, n_out;
    int64_t three = 3, four = 4;
    double data[4] = {0};
    double out[4];
    DLTensor x = tensor(data, F64, 1, &three, NULL);
    DLTensor y = tensor(data, F64, 1, &four, NULL);
    const DLTensor *tensors[] = {&x, &y};
    kiln_attr dim = {.name = "dim", .kind = KILN_ATTR_INT, .value = {1}};
    kiln_attr form = string_attr("approximate", "cubic");
    assert_true(truth_arity("where", &n_in, &n_out));
    assert_int_equal(n_in, 3);
    assert_int_equal(n_out, 1);
    assert_false(truth_arity("nothing", &n_in, &n_out));
    assert_int_equal(truth_eval("nothing", tensors, 2, NULL, 0, 0, out),
                     TRUTH_UNKNOWN_OP);
    assert_int_equal(truth_eval("relu", tensors, 2, NULL, 0, 0, out),
                     TRUTH_BAD_CALL);
    assert_int_equal(truth_eval("softmax", tensors, 2, NULL, 0, 0, out),
                     TRUTH_BAD_CALL);
    y.shape = &three;
    assert_int_equal(truth_eval("relu", tensors, 1, NULL, 0, 0, out),
                     TRUTH_BAD_CALL);
    assert_int_equal(truth_eval("softmax", tensors, 2, &dim, 1, 0, out),
                     TRUTH_BAD_CALL);
    assert_int_equal(truth_eval("gelu", tensors, 2, &form, 1, 0, out),
                     TRUTH_BAD_CALL);
}

/* --- formats -------------------------------------------------------------- */

static uint64_t fnv(uint64_t hash, double value)
{
    unsigned char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    for (size_t i = 0; i < sizeof bytes; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void test_half_decode(void **state)
{
    (void)state;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint16_t code = 0; code <= 0x7C00; code++)
        hash = fnv(hash, truth_from_f16(code));
    assert_true(hash == F16_DECODED);
    for (uint32_t code = 0; code < 0x10000; code++) {
        uint16_t bits = (uint16_t)code;
        bool nan = (bits & 0x7FFF) > 0x7C00;
        assert_true(nan == (bool)isnan(truth_from_f16(bits)));
        assert_true(nan || truth_to_f16(truth_from_f16(bits)) == bits);
        nan = (bits & 0x7FFF) > 0x7F80;
        assert_true(nan == (bool)isnan(truth_from_bf16(bits)));
        assert_true(nan || truth_to_bf16(truth_from_bf16(bits)) == bits);
    }
}

static void test_half_encode(void **state)
{
    (void)state;
    for (int64_t i = 0; i < COUNT(HALVES); i++) {
        if (truth_to_f16(HALVES[i]) != HALVES_F16[i])
            fail_msg("f16 %a: %#x", HALVES[i], truth_to_f16(HALVES[i]));
        if (truth_to_bf16(HALVES[i]) != HALVES_BF16[i])
            fail_msg("bf16 %a: %#x", HALVES[i], truth_to_bf16(HALVES[i]));
        double rounded = truth_from_f16(HALVES_F16[i]);
        assert_true(truth_round(F16, HALVES[i]) == rounded);
        rounded = truth_from_bf16(HALVES_BF16[i]);
        assert_true(truth_round(BF16, HALVES[i]) == rounded);
    }
    assert_true(isnan(truth_from_f16(truth_to_f16(NAN))));
    assert_true(isnan(truth_from_bf16(truth_to_bf16(-NAN))));
}

static void test_ulp(void **state)
{
    (void)state;
    assert_true(truth_ulp(F32, 1.0) == 0x1p-23);
    assert_true(truth_ulp(F32, 0x1.FFFFFFp0) == 0x1p-22); /* rounds to 2 */
    assert_true(truth_ulp(F32, 0.0) == 0x1p-149);
    assert_true(truth_ulp(F32, 0x1p-126) == 0x1p-149);
    assert_true(truth_ulp(F32, 0x1p-125) == 0x1p-148);
    assert_true(truth_ulp(F32, 1e300) == 0x1p104);
    assert_true(truth_ulp(F16, -2048.0) == 2);
    assert_true(truth_ulp(F16, 0x1p-20) == 0x1p-24);
    assert_true(truth_ulp(BF16, 256.0) == 2);
    assert_true(truth_ulp(BF16, 0.0) == 0x1p-133);
    assert_true(truth_ulp(F64, 1.0) == 0x1p-52);
    assert_true(truth_ulp(F64, 0.0) == 0x1p-1074);
    assert_true(truth_ulp(F64, INFINITY) == 0x1p971);
    assert_true(truth_round(F32, 0x1.000001p0) == 1); /* a tie */
    assert_true(isinf(truth_round(F32, 3.5e38)));
}

static void check_element(DLDataType type, double value)
{
    int64_t shape[] = {2, 3};
    int64_t strides[] = {1, 2};
    int64_t room[6] = {0};
    DLTensor t = tensor(room, type, 2, shape, strides);
    truth_write(&t, 1, value);
    for (int64_t i = 0; i < 6; i++)
        assert_true(truth_read(&t, i) == (i == 1 ? value : 0));
    assert_int_equal(truth_offset(&t, 1), 2);
}

static void test_elements(void **state)
{
    (void)state;
    DLDataType odd = {kDLFloat, 32, 4};
    check_element(BOOL, 1);
    check_element(I8, -7);
    check_element((DLDataType){kDLUInt, 8, 1}, 250);
    check_element((DLDataType){kDLInt, 16, 1}, -3000);
    check_element((DLDataType){kDLInt, 32, 1}, -70000);
    check_element(I64, 0x1p40);
    check_element(F16, 1.5);
    check_element(BF16, -1.5);
    check_element(F32, 0.1f);
    check_element(F64, 0.1);
    assert_int_equal(truth_size(odd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_unary_double),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_view_rows),
        cmocka_unit_test(test_view_broadcast),
        cmocka_unit_test(test_attribute_type),
        cmocka_unit_test(test_scalar_and_empty),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_half_decode),
        cmocka_unit_test(test_half_encode),
        cmocka_unit_test(test_ulp),
        cmocka_unit_test(test_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
