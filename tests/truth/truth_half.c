/* truth_half.c: the float formats: decoding, rounding and spacing.
 * IEEE 754-2019: binary16, binary32 and binary64 (table 3.5), rounding to
 * nearest, ties to even (4.3.1). bfloat16 is binary32 cut to 8 bits of
 * precision, with its exponents.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "truth_ops.h"

/* Least exponent of an ulp (that of subnormals), precision, and the largest
 * finite number. */
typedef struct format {
    int precision;
    int ulp_min;
    double max;
} format;

static const format FORMAT_F16 = {11, -24, 65504.0};
static const format FORMAT_BF16 = {8, -133, 0x1.FEp127};
static const format FORMAT_F32 = {24, -149, FLT_MAX};
static const format FORMAT_F64 = {53, -1074, DBL_MAX};

static const format *format_of(DLDataType type)
{
    if (type.code == kDLBfloat)
        return &FORMAT_BF16;
    if (type.bits == 16)
        return &FORMAT_F16;
    return type.bits == 32 ? &FORMAT_F32 : &FORMAT_F64;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^k for -1074 <= k <= 1023. */
static double power_of_2(int k)
{
    if (k >= -1022)
        return of_bits((uint64_t)(k + 1023) << 52);
    return of_bits((uint64_t)1 << (k + 1074));
}

/* Exponent of the format's ulp in value's binade, before any rounding. */
static int ulp_exponent(const format *f, double value)
{
    int exponent = (int)(bits_of(value) >> 52 & 0x7FF) - 1023;
    int ulp = exponent - (f->precision - 1);
    return ulp < f->ulp_min ? f->ulp_min : ulp;
}

/* For a format narrower than double. Adding 1.5 * 2^52 ulps leaves no bits
 * below the ulp, so that the addition rounds there. */
static double round_narrow(const format *f, double value)
{
    if (!isfinite(value))
        return value;
    if (fabs(value) > 2 * f->max)
        return copysign(INFINITY, value);
    double shift = power_of_2(ulp_exponent(f, value)) * 0x1.8p52;
    double rounded = (value + shift) - shift;
    if (fabs(rounded) > f->max)
        rounded = INFINITY;
    return copysign(rounded, value);
}

double truth_round(DLDataType type, double value)
{
    const format *f = format_of(type);
    if (f == &FORMAT_F64)
        return value;
    return f == &FORMAT_F32 ? (double)(float)value : round_narrow(f, value);
}

double truth_ulp(DLDataType type, double value)
{
    const format *f = format_of(type);
    double rounded = truth_round(type, value);
    if (!isfinite(rounded))
        rounded = f->max;
    return power_of_2(ulp_exponent(f, rounded));
}

/* Consecutive numbers of a format have consecutive codes, subnormals and
 * infinity too, so that code = (binades below) * 2^(p-1) + value / ulp. */
static uint16_t encode(const format *f, uint16_t infinity, double value)
{
    uint16_t sign = (uint16_t)(bits_of(value) >> 63 << 15);
    if (isnan(value))
        return (uint16_t)(sign | infinity | infinity >> 1);
    double rounded = fabs(round_narrow(f, value));
    if (isinf(rounded))
        return sign | infinity;
    int q = ulp_exponent(f, rounded);
    int count = (int)(rounded / power_of_2(q));
    int code = (q - f->ulp_min) * (1 << (f->precision - 1)) + count;
    return (uint16_t)(sign | code);
}

uint16_t truth_to_f16(double value)
{
    return encode(&FORMAT_F16, 0x7C00, value);
}

uint16_t truth_to_bf16(double value)
{
    return encode(&FORMAT_BF16, 0x7F80, value);
}

double truth_from_f16(uint16_t bits)
{
    uint64_t sign = (uint64_t)(bits >> 15) << 63;
    uint64_t exponent = bits >> 10 & 0x1F;
    uint64_t fraction = bits & 0x3FF;
    if (exponent == 0)
        return (sign ? -1.0 : 1.0) * (double)fraction * 0x1p-24;
    exponent = exponent == 0x1F ? 0x7FF : exponent - 15 + 1023;
    return of_bits(sign | exponent << 52 | fraction << 42);
}

double truth_from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}
