/* sources: none */
/* libs: -lm */
/* Truth of float: the C library's double functions (below 1 unit in the last
 * place of a double), at every 251st float. Truth of double: mpmath. Truth
 * of conversions: searched among all values of the narrow type in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu/math.h"

struct point {
    double x, value, rest;
};

#include "../golden/math_points.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define STEP 251u /* between tested floats */

/* --- measures ------------------------------------------------------------ */

/* Spacing of floats (or doubles) at value. */
static double ulp_f32(double value)
{
    const float size = fabsf((float)value);
    const float next = size < FLT_MAX ? nextafterf(size, INFINITY) : size;
    const float below = nextafterf(size, 0.0f);
    return size < FLT_MAX ? (double)(next - size) : (double)(size - below);
}

static double ulp_f64(double value)
{
    const double size = fabs(value);
    return size < DBL_MAX ? nextafter(size, INFINITY) - size
                          : size - nextafter(size, 0.0);
}

/* Error of got in ulp; infinite when the kind of value differs. */
static double error_f32(float got, double truth)
{
    const bool same = got == (float)truth || (isnan(got) && isnan(truth));
    if (!isfinite(got) || !isfinite(truth)) {
        return same ? 0.0 : INFINITY;
    }
    return fabs((double)got - truth) / ulp_f32(truth);
}

typedef float function_f32(float x);
typedef double function_f64(double x);

static double worst_f32(const char *name, function_f32 *ours,
                        function_f64 *truth)
{
    double worst = 0.0;
    float where = 0.0f;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STEP) {
        const float x = kiln_float_f32((uint32_t)bits);
        const double error = error_f32(ours(x), truth((double)x));
        if (error > worst) {
            worst = error;
            where = x;
        }
    }
    print_message("%s_f32: %.3f ulp at %.9g\n", name, worst, (double)where);
    return worst;
}

static double worst_f64(const char *name, function_f64 *ours,
                        const struct point *points, size_t n)
{
    double worst = 0.0;
    double where = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double got = ours(points[i].x);
        const double off = (got - points[i].value) - points[i].rest;
        const double error = fabs(off) / ulp_f64(points[i].value);
        if (!(error <= worst)) {
            worst = error;
            where = points[i].x;
        }
    }
    print_message("%s_f64: %.3f ulp at %.17g\n", name, worst, where);
    return worst;
}

/* --- functions, as pointers ------------------------------------------------
 */

static float exp_f32(float x)
{
    return kiln_exp_f32(x);
}
static float log_f32(float x)
{
    return kiln_log_f32(x);
}
static float tanh_f32(float x)
{
    return kiln_tanh_f32(x);
}
static float erf_f32(float x)
{
    return kiln_erf_f32(x);
}
static float erfc_f32(float x)
{
    return kiln_erfc_f32(x);
}
static double exp_f64(double x)
{
    return kiln_exp_f64(x);
}
static double log_f64(double x)
{
    return kiln_log_f64(x);
}
static double tanh_f64(double x)
{
    return kiln_tanh_f64(x);
}
static double erf_f64(double x)
{
    return kiln_erf_f64(x);
}
static double erfc_f64(double x)
{
    return kiln_erfc_f64(x);
}

static void float_functions(void **state)
{
    (void)state;
    assert_true(worst_f32("exp", exp_f32, exp) <= 1.0);
    assert_true(worst_f32("log", log_f32, log) <= 1.0);
    assert_true(worst_f32("tanh", tanh_f32, tanh) <= 3.0);
    assert_true(worst_f32("erf", erf_f32, erf) <= 2.0);
    assert_true(worst_f32("erfc", erfc_f32, erfc) <= 5.0);
}

#define WORST(name)                                                            \
    worst_f64(#name, name##_f64, name##_points, COUNT(name##_points))

static void double_functions(void **state)
{
    (void)state;
    assert_true(WORST(exp) <= 1.0);
    assert_true(WORST(log) <= 1.0);
    assert_true(WORST(tanh) <= 3.0);
    assert_true(WORST(erf) <= 2.0);
    assert_true(WORST(erfc) <= 3.0);
}

/* --- special values --------------------------------------------------------
 */

static void special_floats(void **state)
{
    (void)state;
    assert_true(kiln_exp_f32(-INFINITY) == 0.0f);
    assert_true(kiln_exp_f32(INFINITY) == INFINITY);
    assert_true(kiln_exp_f32(88.73f) == INFINITY);
    assert_true(kiln_exp_f32(-103.98f) == 0.0f);
    assert_true(kiln_exp_f32(-103.9f) == 0x1p-149f);
    assert_true(kiln_exp_f32(0.0f) == 1.0f);
    assert_true(isnan(kiln_exp_f32(NAN)));
    assert_true(kiln_log_f32(0.0f) == -INFINITY);
    assert_true(kiln_log_f32(-0.0f) == -INFINITY);
    assert_true(kiln_log_f32(1.0f) == 0.0f);
    assert_true(kiln_log_f32(INFINITY) == INFINITY);
    assert_true(isnan(kiln_log_f32(-1.0f)));
    assert_true(isnan(kiln_log_f32(NAN)));
    assert_true(kiln_tanh_f32(INFINITY) == 1.0f);
    assert_true(kiln_tanh_f32(-INFINITY) == -1.0f);
    assert_true(signbit(kiln_tanh_f32(-0.0f)));
    assert_true(isnan(kiln_tanh_f32(NAN)));
    assert_true(kiln_erfc_f32(INFINITY) == 0.0f);
    assert_true(kiln_erfc_f32(-INFINITY) == 2.0f);
    assert_true(isnan(kiln_erfc_f32(NAN)));
    assert_true(kiln_erf_f32(-INFINITY) == -1.0f);
    assert_true(isnan(kiln_erf_f32(NAN)));
}

static void special_doubles(void **state)
{
    (void)state;
    assert_true(kiln_exp_f64(-INFINITY) == 0.0);
    assert_true(kiln_exp_f64(INFINITY) == INFINITY);
    assert_true(kiln_exp_f64(709.79) == INFINITY);
    assert_true(kiln_exp_f64(-745.14) == 0.0);
    assert_true(kiln_exp_f64(-745.0) == 0x1p-1074);
    assert_true(isnan(kiln_exp_f64(NAN)));
    assert_true(kiln_log_f64(0.0) == -INFINITY);
    assert_true(kiln_log_f64(INFINITY) == INFINITY);
    assert_true(isnan(kiln_log_f64(-1.0)));
    assert_true(isnan(kiln_log_f64(NAN)));
    assert_true(kiln_tanh_f64(INFINITY) == 1.0);
    assert_true(kiln_tanh_f64(-INFINITY) == -1.0);
    assert_true(isnan(kiln_tanh_f64(NAN)));
    assert_true(kiln_erfc_f64(INFINITY) == 0.0);
    assert_true(kiln_erfc_f64(-INFINITY) == 2.0);
    assert_true(isnan(kiln_erfc_f64(NAN)));
    assert_true(kiln_erf_f64(INFINITY) == 1.0);
    assert_true(isnan(kiln_erf_f64(NAN)));
}

static void nan_wins(void **state)
{
    (void)state;
    assert_true(isnan(kiln_max_f32(NAN, 1.0f)));
    assert_true(isnan(kiln_max_f32(1.0f, NAN)));
    assert_true(isnan(kiln_min_f64(NAN, 1.0)));
    assert_true(isnan(kiln_min_f64(1.0, NAN)));
    assert_true(isnan(kiln_clamp_f32(NAN, 0.0f, 1.0f)));
    assert_true(kiln_max_f32(-INFINITY, 2.0f) == 2.0f);
    assert_true(kiln_min_f32(3.0f, 2.0f) == 2.0f);
    assert_true(kiln_clamp_f64(7.0, -1.0, 1.0) == 1.0);
}

/* --- fma -------------------------------------------------------------------
 */

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t roll(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* Any three floats; in every second case a sum that cancels to a few units. */
static void fma_of_floats(void **state)
{
    (void)state;
    uint64_t dice = 1;
    double worst = 0;
    for (int i = 0; i < 4000000; i++) {
        const float a =
            i % 3 == 0 ? -0.7f : kiln_float_f32((uint32_t)roll(&dice));
        const float b = kiln_float_f32((uint32_t)roll(&dice));
        float c = kiln_float_f32((uint32_t)roll(&dice));
        if (i % 2 == 0) {
            c = -(a * b);
            c = kiln_float_f32(kiln_bits_f32(c) + (uint32_t)(roll(&dice) % 3));
        }
        const float got = kiln_fma_f32(a, b, c), want = fmaf(a, b, c);
        if (!same((double)got, (double)want)) {
            worst = fmax(worst, error_f32(got, (double)want));
        }
    }
    print_message("fma_f32: %.3f ulp\n", worst);
    assert_true(worst <= 1.0);
}

/* The same; c near the product in every fourth, factors that overflow. */
static void fma_of_doubles(void **state)
{
    (void)state;
    uint64_t dice = 2;
    double worst = 0;
    for (int i = 0; i < 4000000; i++) {
        const double a = i % 3 == 0   ? -0.7
                         : i % 5 == 0 ? 2
                                      : kiln_float_f64(roll(&dice));
        const double b = i % 7 == 0 ? DBL_MAX : kiln_float_f64(roll(&dice));
        double c = kiln_float_f64(roll(&dice));
        if (i % 2 == 0) {
            c = i % 7 == 0 ? -b : -(a * b);
            c = kiln_float_f64(kiln_bits_f64(c) + roll(&dice) % 3);
        } else if (i % 4 == 1) {
            c = a * b * (1 + (double)(roll(&dice) % 64));
        }
        const double got = kiln_fma_f64(a, b, c), want = fma(a, b, c);
        if (!same(got, want) && !(fabs(got - want) <= 2 * 0x1p-1074)) {
            const double off = fabs(got - want) / ulp_f64(want);
            worst = off <= 1 ? fmax(worst, off) : INFINITY;
        }
    }
    print_message("fma_f64: %.3f ulp\n", worst);
    assert_true(worst <= 1.0);
}

static void fma_specials(void **state)
{
    (void)state;
    const double list[] = {0.0,        -0.0,     1,         -2,      DBL_MAX,
                           -DBL_MAX,   INFINITY, -INFINITY, NAN,     0x1p-1074,
                           -0x1p-1022, 0x1p1023, FLT_MAX,   0x1p-149};
    for (size_t i = 0; i < COUNT(list) * COUNT(list) * COUNT(list); i++) {
        const double a = list[i % COUNT(list)];
        const double b = list[i / COUNT(list) % COUNT(list)];
        const double c = list[i / COUNT(list) / COUNT(list)];
        const double got = kiln_fma_f64(a, b, c), want = fma(a, b, c);
        /* a product below the least number leaves its sign to c */
        const bool vanished = a != 0 && b != 0 && a * b == 0;
        assert_true(same(got, want) || (vanished && got == want));
        const float x = (float)a, y = (float)b, z = (float)c;
        assert_true(same((double)kiln_fma_f32(x, y, z), (double)fmaf(x, y, z)));
    }
}

static void folds(void **state)
{
    (void)state;
    float lanes[8] = {0x1p24f, 1, 1, 1, -0x1p24f, 1, 1, 1};
    float lost[8] = {0.5f};
    assert_true(kiln_total_f32(lanes, lost, 8) == 5.5);
    double maxima[4] = {1, NAN, 3, 2};
    assert_true(isnan(kiln_fold_max_f64(maxima, 4)));
}

/* 2^20 terms of 2^-26: each alone vanishes beside 1, together they are 2^-6. */
static void compensated(void **state)
{
    (void)state;
    float sum = 1, lost = 0;
    for (int i = 0; i < 1 << 20; i++) {
        kiln_add_f32(&sum, &lost, 0x1p-26f);
    }
    assert_true((double)sum - (double)lost == 1 + 0x1p-6);
}

/* --- conversions -----------------------------------------------------------
 */

/* The value of a 16-bit float from its fields: e exponent bits. */
static double value_of(uint16_t h, int e)
{
    const int m = 15 - e;
    const int bias = (1 << (e - 1)) - 1;
    const int exponent = (h >> m) & ((1 << e) - 1);
    const double fraction = (double)(h & ((1 << m) - 1));
    const double size = exponent == (1 << e) - 1
                            ? (fraction > 0 ? (double)NAN : (double)INFINITY)
                            : (exponent == 0 ? ldexp(fraction, 1 - bias - m)
                                             : ldexp(fraction + ldexp(1, m),
                                                     exponent - bias - m));
    return h >> 15 ? -size : size;
}

static void widening(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= UINT16_MAX; i++) {
        const uint16_t h = (uint16_t)i;
        const double half = value_of(h, 5);
        const double brain = value_of(h, 8);
        const double f16 = (double)kiln_f32_from_f16(h);
        const double bf16 = (double)kiln_f32_from_bf16(h);
        assert_true(f16 == half || (isnan(half) && isnan(f16)));
        assert_true(bf16 == brain || (isnan(brain) && isnan(bf16)));
        assert_true(signbit(f16) == signbit(half));
        assert_true(kiln_f64_from_f16(h) == half || isnan(half));
        assert_true(kiln_f64_from_bf16(h) == brain || isnan(brain));
    }
}

/* Checks the neighbourhood of the midpoint above finite h >= 0: x just below
 * it goes to h, just above to h + 1, itself to the even one. */
static void check_midpoint(uint16_t h, int e, uint16_t (*from_f32)(float),
                           uint16_t (*from_f64)(double))
{
    const uint16_t up = (uint16_t)(h + 1);
    const double low = value_of(h, e);
    const double top = value_of(up, e);
    const double next =
        isinf(top) ? 2 * low - value_of((uint16_t)(h - 1), e) : top;
    const double middle = low + (next - low) / 2;
    const uint16_t even = h & 1 ? up : h;
    const uint16_t sign = 0x8000;
    const float f = (float)middle;
    assert_true((double)f == middle || f < 0x1p-126f);
    assert_int_equal(from_f64(low), h);
    assert_int_equal(from_f64(middle), even);
    assert_int_equal(from_f64(nextafter(middle, 0)), h);
    assert_int_equal(from_f64(nextafter(middle, INFINITY)), up);
    assert_int_equal(from_f64(-middle), even | sign);
    assert_int_equal(from_f64(-nextafter(middle, INFINITY)), up | sign);
    assert_int_equal(from_f32((float)low), h);
    assert_int_equal(from_f32(f), even);
    assert_int_equal(from_f32(nextafterf(f, 0)), h);
    assert_int_equal(from_f32(nextafterf(f, INFINITY)), up);
    assert_int_equal(from_f32(-nextafterf(f, INFINITY)), up | sign);
}

static uint16_t f16_f32(float x)
{
    return kiln_f16_from_f32(x);
}
static uint16_t f16_f64(double x)
{
    return kiln_f16_from_f64(x);
}
static uint16_t bf16_f32(float x)
{
    return kiln_bf16_from_f32(x);
}
static uint16_t bf16_f64(double x)
{
    return kiln_bf16_from_f64(x);
}

static void narrowing(void **state)
{
    (void)state;
    for (uint16_t h = 0; h < 0x7c00; h++) {
        check_midpoint(h, 5, f16_f32, f16_f64);
    }
    for (uint16_t h = 0; h < 0x7f80; h++) {
        check_midpoint(h, 8, bf16_f32, bf16_f64);
    }
}

static void narrowing_specials(void **state)
{
    (void)state;
    assert_int_equal(kiln_f16_from_f32(INFINITY), 0x7c00);
    assert_int_equal(kiln_f16_from_f64(-INFINITY), 0xfc00);
    assert_int_equal(kiln_f16_from_f64(1e300), 0x7c00);
    assert_int_equal(kiln_f16_from_f32(-FLT_MAX), 0xfc00);
    assert_int_equal(kiln_f16_from_f64(-0.0), 0x8000);
    assert_int_equal(kiln_f16_from_f64(5e-324), 0);
    assert_int_equal(kiln_bf16_from_f32(INFINITY), 0x7f80);
    assert_int_equal(kiln_bf16_from_f64(-1e300), 0xff80);
    assert_int_equal(kiln_bf16_from_f64(-5e-324), 0x8000);
    const float nans[] = {NAN, -NAN, kiln_float_f32(0x7f800001u),
                          kiln_float_f32(0xffffffffu)};
    for (size_t i = 0; i < COUNT(nans); i++) {
        const double wide = (double)nans[i];
        assert_true((kiln_f16_from_f32(nans[i]) & 0x7fff) == 0x7e00);
        assert_true((kiln_f16_from_f64(wide) & 0x7fff) == 0x7e00);
        assert_true((kiln_bf16_from_f32(nans[i]) & 0x7fff) >= 0x7fc0);
        assert_true((kiln_bf16_from_f64(wide) & 0x7fff) >= 0x7fc0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_functions), cmocka_unit_test(double_functions),
        cmocka_unit_test(special_floats),  cmocka_unit_test(special_doubles),
        cmocka_unit_test(nan_wins),        cmocka_unit_test(folds),
        cmocka_unit_test(compensated),     cmocka_unit_test(widening),
        cmocka_unit_test(narrowing),       cmocka_unit_test(narrowing_specials),
        cmocka_unit_test(fma_of_floats),   cmocka_unit_test(fma_of_doubles),
        cmocka_unit_test(fma_specials),
    };
    return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
