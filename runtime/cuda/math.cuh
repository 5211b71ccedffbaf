/* math.cuh: the functions that CUDA kernels compute with, on top of those of
 * device.cuh, which comes first. No branches but selects, no tables, no calls.
 *
 * In float and double: the values of runtime/cpu/math.h where that has FMA,
 * but for erfc and for exponentials below 1 in float. NaN in gives NaN out.
 * Accuracy, in units in the last place of the result: exp and log 1, tanh 3,
 * erf 2, erfc 5 (float) and 3 (double), its tail included. Functions called
 * fast are for results that are rounded to 16 bits: within 2^-15 of the value.
 *
 * Polynomials are minimax, fitted for these intervals by Remez' exchange
 * algorithm in 50 digits (Muller, "Elementary Functions", 3rd ed., ch. 3)
 * and rounded; each names the relative error its fit leaves in the result.
 */
#ifndef KILN_CUDA_MATH_CUH
#define KILN_CUDA_MATH_CUH

/* Outer dims at most. ORDER: KILN_MAX_RANK in core/tables.h. */
#define KILN_ROW_RANK 8

/* --- rows: kernels count the rows of all outer dims from 0, the last dim
 * fastest ------------------------------------------------------------------ */

KILN_DEVICE int64_t kiln_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a / b of numbers that are not negative: cheaper than with signs. */
KILN_DEVICE int64_t kiln_quotient(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a / (uint64_t)b);
}

/* --- float --------------------------------------------------------------- */

/* kiln_mad is rounded once on every chip. */
KILN_DEVICE float kiln_fma_f32(float a, float b, float c)
{
    return kiln_mad_f32(a, b, c);
}

KILN_DEVICE float kiln_clamp_f32(float x, float low, float high)
{
    return kiln_min_f32(kiln_max_f32(x, low), high);
}

/* exp(x) = 2^n * (1 + p) with |r| <= ln(2) / 2, r = x - n * ln(2) in two parts
 * of which n times the first is exact (Cody and Waite, "Software Manual for
 * the Elementary Functions", 1980). Returns p = exp(r) - 1, accurate also
 * near 0, and n as two's complement. The fit leaves 2^-28.2. */
KILN_DEVICE float kiln_exp_parts_f32(float x, uint32_t *n)
{
    const float shift = 0x1.8p23f; /* puts the integer into the low bits */
    const float shifted = kiln_mad_f32(x, 0x1.715476p0f, shift);
    const float whole = shifted - shift;
    const float high = kiln_mad_f32(whole, -0x1.62e4p-1f, x);
    const float r = kiln_mad_f32(whole, -0x1.7f7d1cp-20f, high);
    float p = 0x1.6a29a6p-10f;
    p = kiln_mad_f32(p, r, 0x1.1238b6p-7f);
    p = kiln_mad_f32(p, r, 0x1.5558e2p-5f);
    p = kiln_mad_f32(p, r, 0x1.555494p-3f);
    p = kiln_mad_f32(p, r, 0x1.fffffcp-2f);
    *n = kiln_bits_f32(shifted) - kiln_bits_f32(shift);
    const float rest = kiln_mad_f32(whole, -0x1.7f7d1cp-20f, p * (r * r));
    return high + rest; /* high is exact: one rounding less than r */
}

/* x * 2^n, in two factors so that a subnormal result is rounded once. */
KILN_DEVICE float kiln_scale_f32(float x, uint32_t n)
{
    const uint32_t both = n + 254u;
    const uint32_t half = both >> 1;
    const float first = kiln_float_f32(half << 23);
    return x * first * kiln_float_f32((both - half) << 23);
}

/* Past the bounds the result is infinity or 0 all the same. */
KILN_DEVICE float kiln_exp_f32(float x)
{
    uint32_t n;
    const float p = kiln_exp_parts_f32(kiln_clamp_f32(x, -104, 104), &n);
    return kiln_scale_f32(1 + p, n);
}

/* x = t * ln(2) + r with t = x / ln(2) rounded: exp(x) = 2^t * (1 + r), where
 * ln(2) is in two parts. */
KILN_DEVICE float kiln_exp2_rest_f32(float x, float t)
{
    const float r = kiln_mad_f32(t, -0x1.62e43p-1f, x);
    return kiln_mad_f32(t, 0x1.05c61p-29f, r);
}

/* exp of x <= 0, or up to 88, for sums of probabilities, within 3 units of the
 * last place: what is below the normal range comes out as 0. */
KILN_DEVICE float kiln_exp_below_f32(float x)
{
    const float above = kiln_max_f32(x, -88);
    const float t = above * 0x1.715476p0f;
    const float power = kiln_exp2_normal_f32(t);
    return kiln_mad_f32(power, kiln_exp2_rest_f32(above, t), power);
}

/* (exp(2a) - 1) / (exp(2a) + 1) for a = |x|; past the bound it rounds to 1. */
KILN_DEVICE float kiln_tanh_f32(float x)
{
    const float a = kiln_min_f32(kiln_abs_f32(x), 10);
    uint32_t n;
    const float p = kiln_exp_parts_f32(a + a, &n);
    const float scale = kiln_float_f32((n + 127u) << 23);
    const float less = kiln_mad_f32(p, scale, scale - 1);
    return kiln_copysign_f32(less / (less + 2), x);
}

/* x = 2^k * m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f):
 * log(m) = 2 atanh(s) = f - f^2/2 + s * (f^2/2 + R(s^2)), the form of Sun's
 * fdlibm e_log.c. The fit leaves 2^-29.2. */
KILN_DEVICE float kiln_log_f32(float x)
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

/* x + x * P(x^2); the fit leaves 2^-29.4 below 3/4. */
KILN_DEVICE float kiln_erf_small_f32(float x)
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
 * mapped for x from 0 to the bound; a map of that kind is due to Shepherd and
 * Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", 1981.
 * The fit leaves 2^-27.4. */
KILN_DEVICE float kiln_erfc_scaled_f32(float u)
{
    float p = 0x1.c9ca32p-16f;
    p = kiln_mad_f32(p, u, -0x1.e36a9cp-14f);
    p = kiln_mad_f32(p, u, 0x1.61931cp-14f);
    p = kiln_mad_f32(p, u, 0x1.3e0912p-12f);
    p = kiln_mad_f32(p, u, -0x1.d29616p-11f);
    p = kiln_mad_f32(p, u, 0x1.285732p-10f);
    p = kiln_mad_f32(p, u, 0x1.81addcp-12f);
    p = kiln_mad_f32(p, u, -0x1.8a897p-8f);
    p = kiln_mad_f32(p, u, 0x1.d6a0d4p-7f);
    p = kiln_mad_f32(p, u, -0x1.0f18a2p-8f);
    p = kiln_mad_f32(p, u, -0x1.4c82a2p-4f);
    p = kiln_mad_f32(p, u, 0x1.99eddap-3f);
    p = kiln_mad_f32(p, u, 0x1.c0769cp-1f);
    return p;
}

/* erfc of x >= 0; past the bound it is 0, as it nearly is below the normal
 * range. The inverse is made exact to its last place by a step of Newton's. The
 * square's rounding error l goes along: exp(-s - l) = 2^t * (1 + r - l). */
KILN_DEVICE float kiln_erfc_tail_f32(float x)
{
    const float a = kiln_min_f32(x, 9.4f);
    const float near = kiln_inverse_near_f32(a + 1);
    const float wrong = kiln_mad_f32(-(a + 1), near, 1);
    const float inverse = kiln_mad_f32(near, wrong, near);
    const float u = kiln_mad_f32(inverse, 0x1.198p+1f, -0x1.33p+0f);
    const float scaled = inverse * kiln_erfc_scaled_f32(u);
    const float square = a * a;
    const float low = kiln_mad_f32(a, a, -square);
    const float t = square * -0x1.715476p0f;
    const float r = kiln_exp2_rest_f32(-square, t) - low;
    const float power = kiln_exp2_normal_f32(t);
    return scaled * kiln_mad_f32(power, r, power);
}

KILN_DEVICE float kiln_erfc_f32(float x)
{
    const float tail = kiln_erfc_tail_f32(kiln_abs_f32(x));
    return x < 0 ? 2 - tail : tail;
}

KILN_DEVICE float kiln_erf_f32(float x)
{
    const float size = kiln_abs_f32(x);
    const float large = kiln_copysign_f32(1 - kiln_erfc_tail_f32(size), x);
    return size < 0.75f ? kiln_erf_small_f32(x) : large;
}

/* --- double --------------------------------------------------------------- */

KILN_DEVICE double kiln_fma_f64(double a, double b, double c)
{
    return kiln_mad_f64(a, b, c);
}

KILN_DEVICE double kiln_clamp_f64(double x, double low, double high)
{
    return kiln_min_f64(kiln_max_f64(x, low), high);
}

/* exp(x) = 2^n * (1 + p) with |r| <= ln(2) / 2, r = x - n * ln(2) in two parts
 * of which n times the first is exact (Cody and Waite, "Software Manual for
 * the Elementary Functions", 1980). Returns p = exp(r) - 1, accurate also
 * near 0, and n as two's complement. The fit leaves 2^-57.8. */
KILN_DEVICE double kiln_exp_parts_f64(double x, uint64_t *n)
{
    const double shift = 0x1.8p52; /* puts the integer into the low bits */
    const double shifted = kiln_mad_f64(x, 0x1.71547652b82fep0, shift);
    const double whole = shifted - shift;
    const double high = kiln_mad_f64(whole, -0x1.62e42feep-1, x);
    const double r = kiln_mad_f64(whole, -0x1.a39ef35793c76p-33, high);
    double p = 0x1.ad75008bfc6a2p-26;
    p = kiln_mad_f64(p, r, 0x1.28ab2c00cda87p-22);
    p = kiln_mad_f64(p, r, 0x1.71df294347431p-19);
    p = kiln_mad_f64(p, r, 0x1.a0199cddcec74p-16);
    p = kiln_mad_f64(p, r, 0x1.a01a012a31079p-13);
    p = kiln_mad_f64(p, r, 0x1.6c16c182f19f4p-10);
    p = kiln_mad_f64(p, r, 0x1.111111112759bp-7);
    p = kiln_mad_f64(p, r, 0x1.5555555550f52p-5);
    p = kiln_mad_f64(p, r, 0x1.55555555554fep-3);
    p = kiln_mad_f64(p, r, 0x1.0000000000008p-1);
    *n = kiln_bits_f64(shifted) - kiln_bits_f64(shift);
    const double rest =
        kiln_mad_f64(whole, -0x1.a39ef35793c76p-33, p * (r * r));
    return high + rest; /* high is exact: one rounding less than r */
}

/* x * 2^n, in two factors so that a subnormal result is rounded once. */
KILN_DEVICE double kiln_scale_f64(double x, uint64_t n)
{
    const uint64_t both = n + 2046u;
    const uint64_t half = both >> 1;
    const double first = kiln_float_f64(half << 52);
    return x * first * kiln_float_f64((both - half) << 52);
}

/* Past the bound the result is infinity or 0 all the same. (One comparison of
 * sizes becomes one minimum; two of x would not.) */
KILN_DEVICE double kiln_exp_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double most = size > 746.0 ? 746.0 : size;
    uint64_t n;
    const double p = kiln_exp_parts_f64(kiln_copysign_f64(most, x), &n);
    return kiln_scale_f64(1 + p, n);
}

/* exp of x <= 0, or up to 709, for sums of probabilities: what is below the
 * normal range may come out as 0. At the lower bound 2^n's exponent field is 0:
 * n is least there. */
KILN_DEVICE double kiln_exp_below_f64(double x)
{
    const double above = x < -709.0 ? -709.0 : x;
    uint64_t n;
    const double p = kiln_exp_parts_f64(above, &n);
    return (1 + p) * kiln_float_f64((n + 1023u) << 52);
}

/* (exp(2a) - 1) / (exp(2a) + 1) for a = |x|; past the bound it rounds to 1. */
KILN_DEVICE double kiln_tanh_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double a = size > 20.0 ? 20.0 : size;
    uint64_t n;
    const double p = kiln_exp_parts_f64(a + a, &n);
    const double scale = kiln_float_f64((n + 1023u) << 52);
    const double less = kiln_mad_f64(p, scale, scale - 1);
    return kiln_copysign_f64(less / (less + 2), x);
}

/* x = 2^k * m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f):
 * log(m) = 2 atanh(s) = f - f^2/2 + s * (f^2/2 + R(s^2)), the form of Sun's
 * fdlibm e_log.c. The fit leaves 2^-58.5. */
KILN_DEVICE double kiln_log_f64(double x)
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
KILN_DEVICE double kiln_square_low_f64(double x, double square)
{
    return kiln_mad_f64(x, x, -square);
}

/* x + x * P(x^2); the fit leaves 2^-60.1 below 3/4. */
KILN_DEVICE double kiln_erf_small_f64(double x)
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
KILN_DEVICE double kiln_erfc_scaled_f64(double u)
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
KILN_DEVICE double kiln_erfc_tail_f64(double x)
{
    const double a = x > 27.3 ? 27.3 : x;
    const double inverse = 1 / (a + 2);
    const double u = kiln_mad_f64(inverse, 0x1.82e0p+2, -0x1.3500p+0);
    const double scaled = inverse * kiln_erfc_scaled_f64(u);
    const double square = a * a;
    const double low = kiln_square_low_f64(a, square);
    uint64_t n;
    const double p = kiln_exp_parts_f64(-square, &n);
    const double factor = kiln_mad_f64(-low, 1 + p, p);
    return kiln_scale_f64(kiln_mad_f64(scaled, factor, scaled), n);
}

KILN_DEVICE double kiln_erfc_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double tail = kiln_erfc_tail_f64(size);
    const double large = x < 0 ? 2 - tail : tail;
    return size < (double)0.75 ? 1 - kiln_erf_small_f64(x) : large;
}

KILN_DEVICE double kiln_erf_f64(double x)
{
    const double size = kiln_abs_f64(x);
    const double large = kiln_copysign_f64(1 - kiln_erfc_tail_f64(size), x);
    return size < (double)0.75 ? kiln_erf_small_f64(x) : large;
}

/* --- fast: float for results that are rounded to 16 bits ------------------ */

KILN_DEVICE float kiln_div_fast(float a, float b)
{
    return kiln_div_near_f32(a, b);
}

KILN_DEVICE float kiln_exp_fast(float x)
{
    return kiln_exp2_near_f32(x * 0x1.715476p0f);
}

KILN_DEVICE float kiln_exp_below_fast(float x)
{
    return kiln_exp2_normal_f32(x * 0x1.715476p0f);
}

KILN_DEVICE float kiln_log_fast(float x)
{
    return kiln_log2_near_f32(x) * 0x1.62e43p-1f;
}

KILN_DEVICE float kiln_tanh_fast(float x)
{
    const float a = kiln_min_f32(kiln_abs_f32(x), 10);
    uint32_t n;
    const float p = kiln_exp_parts_f32(a + a, &n);
    const float scale = kiln_float_f32((n + 127u) << 23);
    const float less = kiln_mad_f32(p, scale, scale - 1);
    const float size = less * kiln_inverse_near_f32(less + 2);
    return kiln_copysign_f32(size, x);
}

/* erfc of x >= 0 = exp(-x^2) * t * P(t), t = 1 / (1 + 5/8 * x); the fit leaves
 * 2^-16.4. */
KILN_DEVICE float kiln_erfc_tail_fast(float x)
{
    const float t = kiln_inverse_near_f32(kiln_mad_f32(x, 0.625f, 1));
    float p = 0x1.fadc98p-4f;
    p = kiln_mad_f32(p, t, -0x1.ce4556p-2f);
    p = kiln_mad_f32(p, t, 0x1.9ddb22p-2f);
    p = kiln_mad_f32(p, t, 0x1.aa55bep-3f);
    p = kiln_mad_f32(p, t, 0x1.74073cp-2f);
    p = kiln_mad_f32(p, t, 0x1.687de6p-2f);
    const float power = kiln_exp2_normal_f32(x * -0x1.715476p0f * x);
    return p * t * power;
}

KILN_DEVICE float kiln_erfc_fast(float x)
{
    const float tail = kiln_erfc_tail_fast(kiln_abs_f32(x));
    return x < 0 ? 2 - tail : tail;
}

KILN_DEVICE float kiln_erf_fast(float x)
{
    const float size = kiln_abs_f32(x);
    const float large = kiln_copysign_f32(1 - kiln_erfc_tail_fast(size), x);
    return size < 0.75f ? kiln_erf_small_f32(x) : large;
}

/* --- sums ----------------------------------------------------------------- */

/* *sum += term, with what rounding took in *lost, so that a long sum of
 * positive terms is within 2 units of the last place whatever their order
 * (W. Kahan, "Further remarks on reducing truncation errors", CACM 8, 1965).
 */
KILN_DEVICE void kiln_add_f32(float *sum, float *lost, float term)
{
    const float corrected = term - *lost;
    const float next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

KILN_DEVICE void kiln_add_f64(double *sum, double *lost, double term)
{
    const double corrected = term - *lost;
    const double next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

/* log of a sum >= 1 in double as a float, exact also near 0. */
KILN_DEVICE float kiln_log_sum_f32(double sum)
{
    const float high = (float)sum;
    const float low = (float)(sum - (double)high);
    return kiln_log_f32(high) + low / high;
}

/* The sum or maximum of the n elements of x, n a power of two, folded by
 * halves; x is used up. */
KILN_DEVICE float kiln_fold_sum_f32(float *x, int n)
{
#pragma unroll
    for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < half; i++) {
            x[i] += x[i + half];
        }
    }
    return x[0];
}

KILN_DEVICE double kiln_fold_sum_f64(double *x, int n)
{
#pragma unroll
    for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < half; i++) {
            x[i] += x[i + half];
        }
    }
    return x[0];
}

KILN_DEVICE float kiln_fold_max_f32(float *x, int n)
{
#pragma unroll
    for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < half; i++) {
            x[i] = kiln_max_f32(x[i], x[i + half]);
        }
    }
    return x[0];
}

KILN_DEVICE double kiln_fold_max_f64(double *x, int n)
{
#pragma unroll
    for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < half; i++) {
            x[i] = kiln_max_f64(x[i], x[i + half]);
        }
    }
    return x[0];
}

/* Of each group of `lanes` lanes, a power of two: the same in all of them. */
KILN_DEVICE float kiln_warp_max_f32(float x, int lanes)
{
#pragma unroll
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        x = kiln_max_f32(x, kiln_shuffle_xor_f32(x, mask));
    }
    return x;
}

KILN_DEVICE float kiln_warp_sum_f32(float x, int lanes)
{
#pragma unroll
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        x = x + kiln_shuffle_xor_f32(x, mask);
    }
    return x;
}

KILN_DEVICE double kiln_warp_max_f64(double x, int lanes)
{
#pragma unroll
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        x = kiln_max_f64(x, kiln_shuffle_xor_f64(x, mask));
    }
    return x;
}

KILN_DEVICE double kiln_warp_sum_f64(double x, int lanes)
{
#pragma unroll
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        x = x + kiln_shuffle_xor_f64(x, mask);
    }
    return x;
}

/* --- vectors of elements -------------------------------------------------- */

/* 0 for a size, which is not negative; the compiler does not know that. */
KILN_DEVICE uint32_t kiln_zero(int64_t size)
{
    return (uint32_t)(size >> 63);
}

/* *v += zero, a 0 that the compiler does not know to be one: elements unpacked
 * from v before and after are not the same to it, so that it keeps v in
 * registers and not its elements, twice as large. */
KILN_DEVICE void kiln_refresh(uint16_t *v, uint32_t zero)
{
    *v = (uint16_t)(*v + zero);
}

KILN_DEVICE void kiln_refresh(uint32_t *v, uint32_t zero)
{
    *v += zero;
}

KILN_DEVICE void kiln_refresh(kiln_u32x2 *v, uint32_t zero)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        v->word[i] += zero;
    }
}

KILN_DEVICE void kiln_refresh(kiln_u32x4 *v, uint32_t zero)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v->word[i] += zero;
    }
}

/* The elements of v, in order. */
KILN_DEVICE void kiln_unpack_f16(float *x, uint16_t v)
{
    x[0] = kiln_f32_from_f16(v);
}

KILN_DEVICE void kiln_unpack_f16(float *x, uint32_t v)
{
    x[0] = kiln_f32_from_f16((uint16_t)v);
    x[1] = kiln_f32_from_f16((uint16_t)(v >> 16));
}

KILN_DEVICE void kiln_unpack_f16(double *x, uint16_t v)
{
    x[0] = kiln_f64_from_f16(v);
}

KILN_DEVICE void kiln_unpack_f16(double *x, uint32_t v)
{
    x[0] = kiln_f64_from_f16((uint16_t)v);
    x[1] = kiln_f64_from_f16((uint16_t)(v >> 16));
}

KILN_DEVICE void kiln_unpack_bf16(float *x, uint16_t v)
{
    x[0] = kiln_f32_from_bf16(v);
}

KILN_DEVICE void kiln_unpack_bf16(float *x, uint32_t v)
{
    x[0] = kiln_float_f32(v << 16);
    x[1] = kiln_float_f32(v & 0xffff0000u);
}

KILN_DEVICE void kiln_unpack_bf16(double *x, uint16_t v)
{
    x[0] = kiln_f64_from_bf16(v);
}

KILN_DEVICE void kiln_unpack_bf16(double *x, uint32_t v)
{
    x[0] = (double)kiln_float_f32(v << 16);
    x[1] = (double)kiln_float_f32(v & 0xffff0000u);
}

KILN_DEVICE void kiln_unpack_f32(float *x, uint32_t v)
{
    x[0] = kiln_float_f32(v);
}

KILN_DEVICE void kiln_unpack_f32(double *x, uint32_t v)
{
    x[0] = (double)kiln_float_f32(v);
}

KILN_DEVICE void kiln_unpack_f64(double *x, kiln_u32x2 v)
{
    x[0] = kiln_float_f64(v.word[0] | (uint64_t)v.word[1] << 32);
}

KILN_DEVICE void kiln_unpack_bool(uint32_t *x, uint8_t v)
{
    x[0] = v;
}

KILN_DEVICE void kiln_unpack_bool(uint32_t *x, uint16_t v)
{
    x[0] = v & 0xffu;
    x[1] = (uint32_t)v >> 8;
}

KILN_DEVICE void kiln_unpack_bool(uint32_t *x, uint32_t v)
{
    x[0] = v & 0xffu;
    x[1] = v >> 8 & 0xffu;
    x[2] = v >> 16 & 0xffu;
    x[3] = v >> 24;
}

KILN_DEVICE void kiln_unpack_f16(float *x, kiln_u32x2 v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_unpack_f16(x + 2 * i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_f16(float *x, kiln_u32x4 v)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        kiln_unpack_f16(x + 2 * i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_bf16(float *x, kiln_u32x2 v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_unpack_bf16(x + 2 * i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_bf16(float *x, kiln_u32x4 v)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        kiln_unpack_bf16(x + 2 * i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_f32(float *x, kiln_u32x2 v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_unpack_f32(x + i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_f32(float *x, kiln_u32x4 v)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        kiln_unpack_f32(x + i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_f32(double *x, kiln_u32x2 v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_unpack_f32(x + i, v.word[i]);
    }
}

KILN_DEVICE void kiln_unpack_f64(double *x, kiln_u32x4 v)
{
    x[0] = kiln_float_f64(v.word[0] | (uint64_t)v.word[1] << 32);
    x[1] = kiln_float_f64(v.word[2] | (uint64_t)v.word[3] << 32);
}

KILN_DEVICE void kiln_unpack_bool(uint32_t *x, kiln_u32x2 v)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_unpack_bool(x + 4 * i, v.word[i]);
    }
}

/* The vector of elements x, each rounded once. */
KILN_DEVICE void kiln_pack_f16(uint16_t *v, const float *x)
{
    *v = kiln_f16_from_f32(x[0]);
}

KILN_DEVICE void kiln_pack_f16(uint32_t *v, const float *x)
{
    *v = kiln_f16x2_from_f32(x[0], x[1]);
}

KILN_DEVICE void kiln_pack_f16(uint16_t *v, const double *x)
{
    *v = kiln_f16_from_f64(x[0]);
}

KILN_DEVICE void kiln_pack_f16(uint32_t *v, const double *x)
{
    const uint32_t low = kiln_f16_from_f64(x[0]);
    *v = low | (uint32_t)kiln_f16_from_f64(x[1]) << 16;
}

KILN_DEVICE void kiln_pack_bf16(uint16_t *v, const float *x)
{
    *v = kiln_bf16_from_f32(x[0]);
}

KILN_DEVICE void kiln_pack_bf16(uint32_t *v, const float *x)
{
    *v = kiln_bf16x2_from_f32(x[0], x[1]);
}

KILN_DEVICE void kiln_pack_bf16(uint16_t *v, const double *x)
{
    *v = kiln_bf16_from_f64(x[0]);
}

KILN_DEVICE void kiln_pack_bf16(uint32_t *v, const double *x)
{
    const uint32_t low = kiln_bf16_from_f64(x[0]);
    *v = low | (uint32_t)kiln_bf16_from_f64(x[1]) << 16;
}

KILN_DEVICE void kiln_pack_f32(uint32_t *v, const float *x)
{
    *v = kiln_bits_f32(x[0]);
}

KILN_DEVICE void kiln_pack_f32(uint32_t *v, const double *x)
{
    *v = kiln_bits_f32((float)x[0]);
}

KILN_DEVICE void kiln_pack_f64(kiln_u32x2 *v, const double *x)
{
    const uint64_t bits = kiln_bits_f64(x[0]);
    v->word[0] = (uint32_t)bits;
    v->word[1] = (uint32_t)(bits >> 32);
}

KILN_DEVICE void kiln_pack_f16(kiln_u32x2 *v, const float *x)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_pack_f16(&v->word[i], x + 2 * i);
    }
}

KILN_DEVICE void kiln_pack_f16(kiln_u32x4 *v, const float *x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        kiln_pack_f16(&v->word[i], x + 2 * i);
    }
}

KILN_DEVICE void kiln_pack_bf16(kiln_u32x2 *v, const float *x)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_pack_bf16(&v->word[i], x + 2 * i);
    }
}

KILN_DEVICE void kiln_pack_bf16(kiln_u32x4 *v, const float *x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        kiln_pack_bf16(&v->word[i], x + 2 * i);
    }
}

KILN_DEVICE void kiln_pack_f32(kiln_u32x2 *v, const float *x)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_pack_f32(&v->word[i], x + i);
    }
}

KILN_DEVICE void kiln_pack_f32(kiln_u32x4 *v, const float *x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        kiln_pack_f32(&v->word[i], x + i);
    }
}

KILN_DEVICE void kiln_pack_f32(kiln_u32x2 *v, const double *x)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        kiln_pack_f32(&v->word[i], x + i);
    }
}

KILN_DEVICE void kiln_pack_f64(kiln_u32x4 *v, const double *x)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint64_t bits = kiln_bits_f64(x[i]);
        v->word[2 * i] = (uint32_t)bits;
        v->word[2 * i + 1] = (uint32_t)(bits >> 32);
    }
}

#endif /* KILN_CUDA_MATH_CUH */
