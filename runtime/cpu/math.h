/* math.h: the functions that cpu kernels compute with, in float and double.
 *
 * Made for loops over lanes: no branches, no tables, no calls, no errno. Every
 * value is decided here, so results differ between machines only where FMA is
 * present (kiln_mad, kiln_fma). Units are built with -ffp-contract=off
 * -fno-trapping-math -fno-math-errno. NaN in gives NaN out. Accuracy, in
 * units in the last place of the result: exp and log 1, tanh 3, erf 2, erfc
 * 5 (float) and 3 (double), its tail included.
 *
 * Polynomials are minimax, fitted for these intervals by Remez' exchange
 * algorithm in 50 digits (Muller, "Elementary Functions", 3rd ed., ch. 3)
 * and rounded; each names the relative error its fit leaves in the result.
 */
#ifndef KILN_CPU_MATH_H
#define KILN_CPU_MATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "half.h"

/* --- float --------------------------------------------------------------- */

/* a * b + c: rounded once where the target has FMA, else twice. */
KILN_INLINE float kiln_mad_f32(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* a * b + c with one rounding where the target has FMA. Without, the product
 * is exact in double, 24 + 24 of 53 bits, and cannot overflow there: the sum's
 * rounding to double adds 2^-29 of a unit to that of the result. */
KILN_INLINE float kiln_fma_f32(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return (float)((double)a * (double)b + (double)c);
#endif
}

KILN_INLINE float kiln_abs_f32(float x)
{
    return __builtin_fabsf(x);
}

KILN_INLINE float kiln_sqrt_f32(float x)
{
    return __builtin_sqrtf(x);
}

/* A number wins over NaN in a; NaN in b stays. */
KILN_INLINE float kiln_larger_f32(float a, float b)
{
    return a > b ? a : b;
}

/* NaN wins over any number, from either side. */
KILN_INLINE float kiln_max_f32(float a, float b)
{
    const float larger = a > b ? a : b; /* b when either is NaN */
    return a != a ? a : larger;
}

KILN_INLINE float kiln_min_f32(float a, float b)
{
    const float smaller = a < b ? a : b;
    return a != a ? a : smaller;
}

KILN_INLINE float kiln_clamp_f32(float x, float low, float high)
{
    return kiln_min_f32(kiln_max_f32(x, low), high);
}

/* exp(x) = 2^n * (1 + p) with |r| <= ln(2) / 2, r = x - n * ln(2) in two parts
 * of which n times the first is exact (Cody and Waite, "Software Manual for
 * the Elementary Functions", 1980). Returns p = exp(r) - 1, accurate also
 * near 0. The polynomial goes by pairs of coefficients, in a chain half as
 * long as one by one. Its fit leaves 2^-28.2. */
KILN_INLINE float kiln_exp_rest_f32(float x, float whole)
{
    const float high = kiln_mad_f32(whole, -0x1.62e4p-1f, x);
    const float low = whole * -0x1.7f7d1cp-20f;
    const float r = high + low;
    const float z = r * r;
    float p = kiln_mad_f32(r, 0x1.1238b6p-7f, 0x1.5558e2p-5f);
    p = kiln_mad_f32(z, 0x1.6a29a6p-10f, p);
    p = kiln_mad_f32(z, p, kiln_mad_f32(r, 0x1.555494p-3f, 0x1.fffffcp-2f));
    /* high is exact: one rounding less than r */
    return high + kiln_mad_f32(z, p, low);
}

/* p as above. The low 9 bits of *n, the exponent's and one more, are those of
 * n + bias: a shift to the exponent's place drops the others. */
KILN_INLINE float kiln_exp_parts_f32(float x, uint32_t bias, uint32_t *n)
{
    /* puts the integer into the low bits */
    const float shift = 0x1.8p23f + (float)bias;
    const float shifted = kiln_mad_f32(x, 0x1.715476p0f, shift);
    *n = kiln_bits_f32(shifted);
    return kiln_exp_rest_f32(x, shifted - shift);
}

/* (x + x * p) * 2^n for normal x, n as from kiln_exp_parts with 254 as bias,
 * in two factors so that a subnormal result is rounded once more only. */
KILN_INLINE float kiln_scale_f32(float x, float p, uint32_t n)
{
    const uint32_t half = n >> 1;
    const float part = x * kiln_float_f32(half << 23);
    const float value = kiln_mad_f32(p, part, part);
    return value * kiln_float_f32((n - half) << 23);
}

/* Below the bound the result is 0 all the same. n stops where the result is
 * infinity: r may then be large, and p with it, of the same sign. (Integers
 * are compared because two comparisons of x become more than two minima.) */
KILN_INLINE float kiln_exp_f32(float x)
{
    const float shift = 0x1.8p23f + 254;
    const float above = x < -104.0f ? -104.0f : x;
    const float shifted = kiln_mad_f32(above, 0x1.715476p0f, shift);
    const int32_t bits = (int32_t)kiln_bits_f32(shifted);
    const int32_t most = (int32_t)kiln_bits_f32(shift + 128);
    const uint32_t n = (uint32_t)(bits < most ? bits : most);
    const float p = kiln_exp_rest_f32(above, kiln_float_f32(n) - shift);
    return kiln_scale_f32(1, p, n);
}

/* exp of x <= 0 for sums of probabilities: what is below the normal range may
 * come out as 0. At the bound 2^n's exponent field is 0: n is least there. */
KILN_INLINE float kiln_exp_below_f32(float x)
{
    const float above = x < -88.0f ? -88.0f : x;
    uint32_t n;
    const float p = kiln_exp_parts_f32(above, 127u, &n);
    const float scale = kiln_float_f32(n << 23);
    return kiln_mad_f32(p, scale, scale);
}

/* (exp(2a) - 1) / (exp(2a) + 1) for a = |x|; past the bound it rounds to 1. */
KILN_INLINE float kiln_tanh_f32(float x)
{
    const float size = kiln_abs_f32(x);
    const float a = size > 10.0f ? 10.0f : size;
    uint32_t n;
    const float p = kiln_exp_parts_f32(a + a, 127u, &n);
    const float scale = kiln_float_f32(n << 23);
    const float less = kiln_mad_f32(p, scale, scale - 1);
    return __builtin_copysignf(less / (less + 2), x);
}

/* x = 2^k * m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f):
 * log(m) = 2 atanh(s) = f - f^2/2 + s * (f^2/2 + R(s^2)), the form of Sun's
 * fdlibm e_log.c. The fit leaves 2^-29.2. */
KILN_INLINE float kiln_log_f32(float x)
{
    const float up = x < 0x1p-126f ? x * 0x1p23f : x;
    const float down = x < 0x1p-126f ? 23.0f : 0;
    const uint32_t root = 0x3f3504f3u;
    const uint32_t bits = kiln_bits_f32(up) + (0x3f800000u - root);
    const float biased = kiln_float_f32((bits >> 23) | 0x4b000000u);
    const float k = biased - (0x1p23f + 127.0f) - down;
    const float f = kiln_float_f32((bits & 0x007fffffu) + root) - 1;
    const float s = f / (2 + f);
    const float z = s * s;
    float p = 0x1.31e688p-2f;
    p = kiln_mad_f32(p, z, 0x1.995e9cp-2f);
    p = kiln_mad_f32(p, z, 0x1.55557ap-1f);
    const float square = f * f / 2;
    const float low = kiln_mad_f32(s, square + z * p, k * 0x1.7f7d1cp-20f);
    const float finite = k * 0x1.62e4p-1f + (f + (low - square));
    const float positive = x > FLT_MAX ? x : finite;
    const float negative = x == 0 ? -(float)INFINITY : (float)NAN;
    return x > 0 ? positive : negative;
}

/* x * x - square exactly, where square is that product rounded (Dekker, "A
 * floating-point technique for extending the available precision", 1971). */
KILN_INLINE float kiln_square_low_f32(float x, float square)
{
#ifdef __FMA__
    return kiln_mad_f32(x, x, -square);
#else
    const float high = kiln_float_f32(kiln_bits_f32(x) & 0xfffff000u);
    const float low = x - high;
    return ((high * high - square) + 2 * high * low) + low * low;
#endif
}

/* x + x * P(x^2); the fit leaves 2^-29.4 below 3/4. */
KILN_INLINE float kiln_erf_small_f32(float x)
{
    const float z = x * x;
    float p = -0x1.61daa6p-11f;
    p = kiln_mad_f32(p, z, 0x1.4f2be6p-8f);
    p = kiln_mad_f32(p, z, -0x1.b7a884p-6f);
    p = kiln_mad_f32(p, z, 0x1.ce2ac6p-4f);
    p = kiln_mad_f32(p, z, -0x1.81273ap-2f);
    p = kiln_mad_f32(p, z, 0x1.06eba8p-3f);
    return kiln_mad_f32(x, p, x);
}

/* (x + 1) * exp(x^2) * erfc(x) as a polynomial in u, to which 1 / (x + 1) was
 * mapped for x from 3/4 to the bound; a map of that kind is due to Shepherd
 * and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x",
 * 1981. The fit leaves 2^-28.4. */
KILN_INLINE float kiln_erfc_scaled_f32(float u)
{
    float p = -0x1.f9ac06p-18f;
    p = kiln_mad_f32(p, u, 0x1.bebe86p-17f);
    p = kiln_mad_f32(p, u, 0x1.646d6ap-15f);
    p = kiln_mad_f32(p, u, -0x1.bf099ep-13f);
    p = kiln_mad_f32(p, u, 0x1.64a946p-13f);
    p = kiln_mad_f32(p, u, 0x1.d56a3ep-10f);
    p = kiln_mad_f32(p, u, -0x1.9e8846p-8f);
    p = kiln_mad_f32(p, u, -0x1.d9f30ap-7f);
    p = kiln_mad_f32(p, u, 0x1.228a42p-3f);
    p = kiln_mad_f32(p, u, 0x1.880d28p-1f);
    return p;
}

/* erfc of x >= 3/4; past the bound it is 0. exp(-x^2) = 2^n * (1 + p) takes
 * the square's rounding error l along: exp(-s - l) = exp(-s) * (1 - l). */
KILN_INLINE float kiln_erfc_tail_f32(float x)
{
    const float a = x > 10.1f ? 10.1f : x;
    const float inverse = 1 / (a + 1);
    const float u = kiln_mad_f32(inverse, 0x1.0810p+2f, -0x1.5f40p+0f);
    const float scaled = inverse * kiln_erfc_scaled_f32(u);
    const float square = a * a;
    const float low = kiln_square_low_f32(a, square);
    uint32_t n;
    const float p = kiln_exp_parts_f32(-square, 254u, &n);
    const float factor = kiln_mad_f32(-low, 1 + p, p);
    return kiln_scale_f32(scaled, factor, n);
}

KILN_INLINE float kiln_erfc_f32(float x)
{
    const float size = kiln_abs_f32(x);
    const float tail = kiln_erfc_tail_f32(size);
    const float large = x < 0 ? 2 - tail : tail;
    return size < (float)0.75 ? 1 - kiln_erf_small_f32(x) : large;
}

KILN_INLINE float kiln_erf_f32(float x)
{
    const float size = kiln_abs_f32(x);
    const float large = __builtin_copysignf(1 - kiln_erfc_tail_f32(size), x);
    return size < (float)0.75 ? kiln_erf_small_f32(x) : large;
}

/* *sum += term, with what rounding took in *lost, so that a long sum of
 * positive terms is within 2 units of the last place whatever their order
 * (W. Kahan, "Further remarks on reducing truncation errors", CACM 8, 1965).
 */
KILN_INLINE void kiln_add_f32(float *sum, float *lost, float term)
{
    const float corrected = term - *lost;
    const float next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

/* Adds group, four terms a lane, to n sums as kiln_add does. */
KILN_INLINE void kiln_add_group_f32(float *sums, float *lost,
                                    const float *group, int n)
{
    for (int lane = 0; lane < n; lane++) {
        const float low = group[lane] + group[lane + n];
        const float high = group[lane + 2 * n] + group[lane + 3 * n];
        kiln_add_f32(&sums[lane], &lost[lane], low + high);
    }
}

/* The sum of n lanes less what they lost, in double: eight sums side by side,
 * folded by halves. n is a multiple of 8. */
KILN_INLINE double kiln_total_f32(const float *lanes, const float *lost, int n)
{
    double sums[8] = {0};
    for (int lane = 0; lane < n; lane += 8) {
        for (int i = 0; i < 8; i++) {
            sums[i] += (double)lanes[lane + i] - (double)lost[lane + i];
        }
    }
    for (int half = 4; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            sums[i] += sums[i + half];
        }
    }
    return sums[0];
}

/* lanes[i] = the largest of it and of group, four values a lane. Of NaN only
 * this is sure: none comes into lanes. */
KILN_INLINE void kiln_max_group_f32(float *lanes, const float *group, int n)
{
    for (int lane = 0; lane < n; lane++) {
        const float low = kiln_larger_f32(group[lane], group[lane + n]);
        const float high =
            kiln_larger_f32(group[lane + 2 * n], group[lane + 3 * n]);
        const float both = kiln_larger_f32(low, high);
        lanes[lane] = kiln_larger_f32(both, lanes[lane]);
    }
}

/* Folds n lanes (a power of two) onto lane 0 by halves, always in this
 * order: the result does not depend on who computes it. */
KILN_INLINE float kiln_fold_max_f32(float *lanes, int n)
{
    for (int half = n / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
            lanes[lane] = kiln_max_f32(lanes[lane], lanes[lane + half]);
        }
    }
    return lanes[0];
}

/* --- double --------------------------------------------------------------- */

/* a * b + c: rounded once where the target has FMA, else twice. */
KILN_INLINE double kiln_mad_f64(double a, double b, double c)
{
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

KILN_INLINE double kiln_abs_f64(double x)
{
    return __builtin_fabs(x);
}

/* a * b - product, where product is a * b rounded: exactly, by Dekker's
 * products of halves (as above), unless a part of them is below the least
 * number. The halves of a have 26 bits, its upper one rounded; those of b have
 * 26 and 27, its upper one cut, so that no b is too large. */
KILN_INLINE double kiln_product_low_f64(double a, double b, double product)
{
    const uint64_t half = UINT64_C(1) << 26;
    const uint64_t upper = ~(2 * half - 1);
    const double a_high = kiln_float_f64((kiln_bits_f64(a) + half) & upper);
    const double b_high = kiln_float_f64(kiln_bits_f64(b) & upper);
    const double a_low = a - a_high;
    const double b_low = b - b_high;
    const double first = (product - a_high * b_high) - a_high * b_low;
    return a_low * b_low - (first - a_low * b_high);
}

/* a * b, or 0 where c is infinite and alone says what a * b + c is. */
KILN_INLINE double kiln_product_beside_f64(double a, double b, double c)
{
    const double size = kiln_abs_f64(a) * 0.5 + kiln_abs_f64(b) * 0.5;
    const double product = a * b;
    const double of_finite = size <= DBL_MAX ? 0 : product;
    return kiln_abs_f64(c) > DBL_MAX ? of_finite : product;
}

/* a * b + c with one rounding where the target has FMA. Without, within
 * 0.5 + 2^-50 units, or twice the least number where that is more: what the
 * product and the sum lost is added last (Dekker; D. E. Knuth, "The Art of
 * Computer Programming", vol. 2, 4.2.2). A finite sum of an infinite product
 * is that of |a| > 1 and large c: a quarter of it is then computed. */
KILN_INLINE double kiln_fma_f64(double a, double b, double c)
{
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    const double size = kiln_abs_f64(c) * (kiln_abs_f64(a) > 1 ? 1 : 0);
    const double up = size > 0x1p-900 ? 4 : 1;
    /* 1 / up, by its exponent */
    const uint64_t one = kiln_bits_f64(1);
    const double down = kiln_float_f64(2 * one - kiln_bits_f64(up));
    const double part = a * down;
    const double term = c * down;
    const double product = kiln_product_beside_f64(part, b, c);
    const double sum = product + term;
    const double back = sum - product;
    const double lost = (product - (sum - back)) + (term - back);
    const double rest = lost + kiln_product_low_f64(part, b, product);
    /* 0 keeps the sum's sign; NaN is of an infinity that the sum has */
    return (kiln_abs_f64(rest) > 0 ? sum + rest : sum) * up;
#endif
}

KILN_INLINE double kiln_sqrt_f64(double x)
{
    return __builtin_sqrt(x);
}

/* A number wins over NaN in a; NaN in b stays. */
KILN_INLINE double kiln_larger_f64(double a, double b)
{
    return a > b ? a : b;
}

/* NaN wins over any number, from either side. */
KILN_INLINE double kiln_max_f64(double a, double b)
{
    const double larger = a > b ? a : b; /* b when either is NaN */
    return a != a ? a : larger;
}

KILN_INLINE double kiln_min_f64(double a, double b)
{
    const double smaller = a < b ? a : b;
    return a != a ? a : smaller;
}

KILN_INLINE double kiln_clamp_f64(double x, double low, double high)
{
    return kiln_min_f64(kiln_max_f64(x, low), high);
}

/* exp(x) = 2^n * (1 + p) with |r| <= ln(2) / 2, r = x - n * ln(2) in two parts
 * of which n times the first is exact (Cody and Waite, "Software Manual for
 * the Elementary Functions", 1980). Returns p = exp(r) - 1, accurate also
 * near 0. The polynomial goes by pairs of coefficients, in a chain half as
 * long as one by one. Its fit leaves 2^-57.8. */
KILN_INLINE double kiln_exp_rest_f64(double x, double whole)
{
    const double high = kiln_mad_f64(whole, -0x1.62e42feep-1, x);
    const double low = whole * -0x1.a39ef35793c76p-33;
    const double r = high + low;
    const double z = r * r;
    double p = kiln_mad_f64(r, 0x1.ad75008bfc6a2p-26, 0x1.28ab2c00cda87p-22);
    p = kiln_mad_f64(
        z, p, kiln_mad_f64(r, 0x1.71df294347431p-19, 0x1.a0199cddcec74p-16));
    p = kiln_mad_f64(
        z, p, kiln_mad_f64(r, 0x1.a01a012a31079p-13, 0x1.6c16c182f19f4p-10));
    p = kiln_mad_f64(
        z, p, kiln_mad_f64(r, 0x1.111111112759bp-7, 0x1.5555555550f52p-5));
    p = kiln_mad_f64(
        z, p, kiln_mad_f64(r, 0x1.55555555554fep-3, 0x1.0000000000008p-1));
    /* high is exact: one rounding less than r */
    return high + kiln_mad_f64(z, p, low);
}

/* p as above. The low 12 bits of *n, the exponent's and one more, are those of
 * n + bias: a shift to the exponent's place drops the others. */
KILN_INLINE double kiln_exp_parts_f64(double x, uint64_t bias, uint64_t *n)
{
    /* puts the integer into the low bits */
    const double shift = 0x1.8p52 + (double)bias;
    const double shifted = kiln_mad_f64(x, 0x1.71547652b82fep0, shift);
    *n = kiln_bits_f64(shifted);
    return kiln_exp_rest_f64(x, shifted - shift);
}

/* (x + x * p) * 2^n for normal x, n as from kiln_exp_parts with 2046 as bias,
 * in two factors so that a subnormal result is rounded once more only. */
KILN_INLINE double kiln_scale_f64(double x, double p, uint64_t n)
{
    const uint64_t half = n >> 1;
    const double part = x * kiln_float_f64(half << 52);
    const double value = kiln_mad_f64(p, part, part);
    return value * kiln_float_f64((n - half) << 52);
}

/* Past the bound the result is infinity or 0 all the same. (Unlike in float,
 * comparing integers would cost more: SSE2 has none of 64 bits.) */
KILN_INLINE double kiln_exp_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double most = size > 746.0 ? 746.0 : size;
    const uint64_t sign = kiln_bits_f64(x) ^ kiln_bits_f64(size);
    const double bounded = kiln_float_f64(kiln_bits_f64(most) ^ sign);
    uint64_t n;
    const double p = kiln_exp_parts_f64(bounded, 2046u, &n);
    return kiln_scale_f64(1, p, n);
}

/* exp of x <= 0 for sums of probabilities: what is below the normal range may
 * come out as 0. At the bound 2^n's exponent field is 0: n is least there. */
KILN_INLINE double kiln_exp_below_f64(double x)
{
    const double above = x < -709.0 ? -709.0 : x;
    uint64_t n;
    const double p = kiln_exp_parts_f64(above, 1023u, &n);
    const double scale = kiln_float_f64(n << 52);
    return kiln_mad_f64(p, scale, scale);
}

/* (exp(2a) - 1) / (exp(2a) + 1) for a = |x|; past the bound it rounds to 1. */
KILN_INLINE double kiln_tanh_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double a = size > 20.0 ? 20.0 : size;
    uint64_t n;
    const double p = kiln_exp_parts_f64(a + a, 1023u, &n);
    const double scale = kiln_float_f64(n << 52);
    const double less = kiln_mad_f64(p, scale, scale - 1);
    return __builtin_copysign(less / (less + 2), x);
}

/* x = 2^k * m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f):
 * log(m) = 2 atanh(s) = f - f^2/2 + s * (f^2/2 + R(s^2)), the form of Sun's
 * fdlibm e_log.c. The fit leaves 2^-58.5. */
KILN_INLINE double kiln_log_f64(double x)
{
    const double up = x < 0x1p-1022 ? x * 0x1p52 : x;
    const double down = x < 0x1p-1022 ? 52.0 : 0;
    const uint64_t root = 0x3fe6a09e667f3bcdu;
    const uint64_t bits = kiln_bits_f64(up) + (0x3ff0000000000000u - root);
    const double biased = kiln_float_f64((bits >> 52) | 0x4330000000000000u);
    const double k = biased - (0x1p52 + 1023.0) - down;
    const double f = kiln_float_f64((bits & 0x000fffffffffffffu) + root) - 1;
    const double s = f / (2 + f);
    const double z = s * s;
    double p = 0x1.2f0d8c51b4a6fp-3;
    p = kiln_mad_f64(p, z, 0x1.39a0f53a5ce55p-3);
    p = kiln_mad_f64(p, z, 0x1.7466462a7d1efp-3);
    p = kiln_mad_f64(p, z, 0x1.c71c51e800925p-3);
    p = kiln_mad_f64(p, z, 0x1.249249421797dp-2);
    p = kiln_mad_f64(p, z, 0x1.999999997fb32p-2);
    p = kiln_mad_f64(p, z, 0x1.5555555555593p-1);
    const double square = f * f / 2;
    const double low =
        kiln_mad_f64(s, square + z * p, k * 0x1.a39ef35793c76p-33);
    const double finite = k * 0x1.62e42feep-1 + (f + (low - square));
    const double positive = x > DBL_MAX ? x : finite;
    const double negative = x == 0 ? -(double)INFINITY : (double)NAN;
    return x > 0 ? positive : negative;
}

/* x * x - square exactly, where square is that product rounded (Dekker, "A
 * floating-point technique for extending the available precision", 1971). */
KILN_INLINE double kiln_square_low_f64(double x, double square)
{
#ifdef __FMA__
    return kiln_mad_f64(x, x, -square);
#else
    const double high = kiln_float_f64(kiln_bits_f64(x) & 0xfffffffff8000000u);
    const double low = x - high;
    return ((high * high - square) + 2 * high * low) + low * low;
#endif
}

/* x + x * P(x^2); the fit leaves 2^-60.1 below 3/4. */
KILN_INLINE double kiln_erf_small_f64(double x)
{
    const double z = x * x;
    double p = 0x1.89dfaf43499b0p-27;
    p = kiln_mad_f64(p, z, -0x1.56411f5b51dadp-23);
    p = kiln_mad_f64(p, z, 0x1.b90ca96c91609p-20);
    p = kiln_mad_f64(p, z, -0x1.f4c5b167cdc9cp-17);
    p = kiln_mad_f64(p, z, 0x1.f9a2ad5eecf89p-14);
    p = kiln_mad_f64(p, z, -0x1.c02db1100f22ap-11);
    p = kiln_mad_f64(p, z, 0x1.565bcd030e8fep-8);
    p = kiln_mad_f64(p, z, -0x1.b82ce312555e5p-6);
    p = kiln_mad_f64(p, z, 0x1.ce2f21a04246ep-4);
    p = kiln_mad_f64(p, z, -0x1.812746b0379e0p-2);
    p = kiln_mad_f64(p, z, 0x1.06eba8214db69p-3);
    return kiln_mad_f64(x, p, x);
}

/* (x + 2) * exp(x^2) * erfc(x) as a polynomial in u, to which 1 / (x + 2) was
 * mapped for x from 3/4 to the bound; a map of that kind is due to Shepherd
 * and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x",
 * 1981. The fit leaves 2^-61.1. */
KILN_INLINE double kiln_erfc_scaled_f64(double u)
{
    double p = -0x1.ece7f19e9827cp-37;
    p = kiln_mad_f64(p, u, 0x1.ecc245095ff9ep-36);
    p = kiln_mad_f64(p, u, 0x1.e431f123f18ebp-34);
    p = kiln_mad_f64(p, u, -0x1.ab5cfc16978abp-32);
    p = kiln_mad_f64(p, u, -0x1.ca2685798d748p-34);
    p = kiln_mad_f64(p, u, 0x1.6d6e9dcd4bf3ap-29);
    p = kiln_mad_f64(p, u, -0x1.28896f4d58660p-28);
    p = kiln_mad_f64(p, u, -0x1.4ceb19c1bbf37p-27);
    p = kiln_mad_f64(p, u, 0x1.a0a5b73030f81p-25);
    p = kiln_mad_f64(p, u, -0x1.021fcbabf885ap-26);
    p = kiln_mad_f64(p, u, -0x1.760b293128201p-22);
    p = kiln_mad_f64(p, u, 0x1.6156bfbf4cfe6p-21);
    p = kiln_mad_f64(p, u, 0x1.12cdede6b9365p-19);
    p = kiln_mad_f64(p, u, -0x1.18e89c36387b9p-17);
    p = kiln_mad_f64(p, u, -0x1.8576683de167fp-17);
    p = kiln_mad_f64(p, u, 0x1.8cade4a3f057ep-14);
    p = kiln_mad_f64(p, u, 0x1.b3005ea386d94p-14);
    p = kiln_mad_f64(p, u, -0x1.3283e1b6012e2p-10);
    p = kiln_mad_f64(p, u, -0x1.514fe62750c33p-9);
    p = kiln_mad_f64(p, u, 0x1.e148b4886d834p-7);
    p = kiln_mad_f64(p, u, 0x1.c5743593d7714p-4);
    p = kiln_mad_f64(p, u, 0x1.88d0e42f6ec08p-2);
    p = kiln_mad_f64(p, u, 0x1.c9dbef61162ffp-1);
    return p;
}

/* erfc of x >= 3/4; past the bound it is 0. exp(-x^2) = 2^n * (1 + p) takes
 * the square's rounding error l along: exp(-s - l) = exp(-s) * (1 - l). */
KILN_INLINE double kiln_erfc_tail_f64(double x)
{
    const double a = x > 27.3 ? 27.3 : x;
    const double inverse = 1 / (a + 2);
    const double u = kiln_mad_f64(inverse, 0x1.82e0p+2, -0x1.3500p+0);
    const double scaled = inverse * kiln_erfc_scaled_f64(u);
    const double square = a * a;
    const double low = kiln_square_low_f64(a, square);
    uint64_t n;
    const double p = kiln_exp_parts_f64(-square, 2046u, &n);
    const double factor = kiln_mad_f64(-low, 1 + p, p);
    return kiln_scale_f64(scaled, factor, n);
}

KILN_INLINE double kiln_erfc_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double tail = kiln_erfc_tail_f64(size);
    const double large = x < 0 ? 2 - tail : tail;
    return size < (double)0.75 ? 1 - kiln_erf_small_f64(x) : large;
}

KILN_INLINE double kiln_erf_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double large = __builtin_copysign(1 - kiln_erfc_tail_f64(size), x);
    return size < (double)0.75 ? kiln_erf_small_f64(x) : large;
}

/* *sum += term, with what rounding took in *lost, so that a long sum of
 * positive terms is within 2 units of the last place whatever their order
 * (W. Kahan, "Further remarks on reducing truncation errors", CACM 8, 1965).
 */
KILN_INLINE void kiln_add_f64(double *sum, double *lost, double term)
{
    const double corrected = term - *lost;
    const double next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

/* Adds group, four terms a lane, to n sums as kiln_add does. */
KILN_INLINE void kiln_add_group_f64(double *sums, double *lost,
                                    const double *group, int n)
{
    for (int lane = 0; lane < n; lane++) {
        const double low = group[lane] + group[lane + n];
        const double high = group[lane + 2 * n] + group[lane + 3 * n];
        kiln_add_f64(&sums[lane], &lost[lane], low + high);
    }
}

/* The sum of n lanes less what they lost, in double: eight sums side by side,
 * folded by halves. n is a multiple of 8. */
KILN_INLINE double kiln_total_f64(const double *lanes, const double *lost,
                                  int n)
{
    double sums[8] = {0};
    for (int lane = 0; lane < n; lane += 8) {
        for (int i = 0; i < 8; i++) {
            sums[i] += (double)lanes[lane + i] - (double)lost[lane + i];
        }
    }
    for (int half = 4; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            sums[i] += sums[i + half];
        }
    }
    return sums[0];
}

/* lanes[i] = the largest of it and of group, four values a lane. Of NaN only
 * this is sure: none comes into lanes. */
KILN_INLINE void kiln_max_group_f64(double *lanes, const double *group, int n)
{
    for (int lane = 0; lane < n; lane++) {
        const double low = kiln_larger_f64(group[lane], group[lane + n]);
        const double high =
            kiln_larger_f64(group[lane + 2 * n], group[lane + 3 * n]);
        const double both = kiln_larger_f64(low, high);
        lanes[lane] = kiln_larger_f64(both, lanes[lane]);
    }
}

/* Folds n lanes (a power of two) onto lane 0 by halves, always in this
 * order: the result does not depend on who computes it. */
KILN_INLINE double kiln_fold_max_f64(double *lanes, int n)
{
    for (int half = n / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
            lanes[lane] = kiln_max_f64(lanes[lane], lanes[lane + half]);
        }
    }
    return lanes[0];
}

#endif /* KILN_CPU_MATH_H */
