/* half.h: 16-bit floats held as words, and their conversions.
 *
 * All forms are free of branches so that loops over lanes become vector code.
 * Narrowing rounds once, to nearest with ties to even; overflow gives an
 * infinity, NaN stays NaN (quiet), subnormals are exact. Formats: IEEE 754
 * binary16, and bfloat16 = the upper half of binary32.
 */
#ifndef KILN_CPU_HALF_H
#define KILN_CPU_HALF_H

#include <stdint.h>
#include <string.h>

/* Inlined always: a call left standing would keep a lane loop scalar. */
#define KILN_INLINE static inline __attribute__((always_inline))

/* Says that no iteration of the next loop needs what another one writes, so
 * that it becomes vector code without a check for overlap. An output that is
 * exactly an input keeps that promise when each iteration reads its own
 * elements before it writes. */
#ifdef __clang__
#define KILN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KILN_INDEPENDENT _Pragma("GCC ivdep")
#endif

KILN_INLINE uint32_t kiln_bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

KILN_INLINE float kiln_float_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

KILN_INLINE uint64_t kiln_bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

KILN_INLINE double kiln_float_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A subnormal half m is (2^-14 + m * 2^-24) - 2^-14: both terms are normal
 * floats, so the result is exact under any treatment of subnormals. */
KILN_INLINE float kiln_f32_from_f16(uint16_t h)
{
    const uint32_t least = 113u << 23; /* 2^-14 */
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t body = (uint32_t)(h & 0x7fffu) << 13;
    const uint32_t normal = body + (112u << 23);
    const uint32_t special = body | 0x7f800000u;
    const float small = kiln_float_f32(body + least) - kiln_float_f32(least);
    const uint32_t finite = body < (1u << 23) ? kiln_bits_f32(small) : normal;
    return kiln_float_f32(sign | (body >= (31u << 23) ? special : finite));
}

/* The subnormal case lets the adder round: 0.5's last place is 2^-24. */
KILN_INLINE uint16_t kiln_f16_from_f32(float x)
{
    const uint32_t bits = kiln_bits_f32(x);
    const uint32_t body = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t half = 126u << 23; /* 0.5 */
    const uint32_t odd = (body >> 13) & 1u;
    const uint32_t normal = (body - (112u << 23) + 0xfffu + odd) >> 13;
    const float sum = kiln_float_f32(body) + kiln_float_f32(half);
    const uint32_t small = kiln_bits_f32(sum) - half;
    const uint32_t special = body > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t finite = body < (113u << 23) ? small : normal;
    return (uint16_t)(sign | (body >= (143u << 23) ? special : finite));
}

KILN_INLINE float kiln_f32_from_bf16(uint16_t h)
{
    return kiln_float_f32((uint32_t)h << 16);
}

KILN_INLINE uint16_t kiln_bf16_from_f32(float x)
{
    const uint32_t bits = kiln_bits_f32(x);
    const uint32_t odd = (bits >> 16) & 1u;
    const uint32_t rounded = (bits + 0x7fffu + odd) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    const uint32_t body = bits & 0x7fffffffu;
    return (uint16_t)(body > 0x7f800000u ? quiet : rounded);
}

/* Rounds to odd: an inexact result is cut towards zero and its last bit set.
 * Rounding that once more to a format at least two bits shorter equals one
 * rounding (Boldo and Melquiond, "Emulation of a FMA and correctly rounded
 * sums: proved algorithms using rounding to odd", 2008). */
KILN_INLINE float kiln_odd_f32_from_f64(double x)
{
    const float near = (float)x;
    const double back = (double)near;
    const uint32_t bits = kiln_bits_f32(near);
    const uint32_t cut = bits - 1u;
    const uint32_t low = __builtin_fabs(back) > __builtin_fabs(x) ? cut : bits;
    return kiln_float_f32(back == x ? bits : low | 1u);
}

KILN_INLINE uint16_t kiln_f16_from_f64(double x)
{
    return kiln_f16_from_f32(kiln_odd_f32_from_f64(x));
}

KILN_INLINE uint16_t kiln_bf16_from_f64(double x)
{
    return kiln_bf16_from_f32(kiln_odd_f32_from_f64(x));
}

KILN_INLINE double kiln_f64_from_f16(uint16_t h)
{
    return (double)kiln_f32_from_f16(h);
}

KILN_INLINE double kiln_f64_from_bf16(uint16_t h)
{
    return (double)kiln_f32_from_bf16(h);
}

#endif /* KILN_CPU_HALF_H */
