/* arith.h: checked 64-bit integers. Each function returns false where the
 * true result lies outside int64, and leaves *r alone then.
 */
#ifndef KILN_CORE_ARITH_H
#define KILN_CORE_ARITH_H

#include <stdbool.h>
#include <stdint.h>

static inline bool kiln_arith_add(int64_t a, int64_t b, int64_t *r)
{
    int64_t result;

    if (__builtin_add_overflow(a, b, &result))
        return false;
    *r = result;
    return true;
}

static inline bool kiln_arith_sub(int64_t a, int64_t b, int64_t *r)
{
    int64_t result;

    if (__builtin_sub_overflow(a, b, &result))
        return false;
    *r = result;
    return true;
}

static inline bool kiln_arith_mul(int64_t a, int64_t b, int64_t *r)
{
    int64_t result;

    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *r = result;
    return true;
}

/* The quotient rounded down; b is not 0. */
bool kiln_arith_floordiv(int64_t a, int64_t b, int64_t *r);
/* a - b * floordiv(a, b): has b's sign; b is not 0. Always in range. */
int64_t kiln_arith_mod(int64_t a, int64_t b);
/* The quotient rounded up; b is not 0. */
bool kiln_arith_cdiv(int64_t a, int64_t b, int64_t *r);
/* v rounded up to a multiple of `to`, which is above 0. */
bool kiln_arith_align(int64_t v, int64_t to, int64_t *r);
/* The least power of two >= a, which is at least 1. */
bool kiln_arith_next_pow2(int64_t a, int64_t *r);

/* How two numbers compare; exact, though no double need hold the int. */
typedef enum kiln_order {
    KILN_LESS = 1,
    KILN_EQUAL = 2,
    KILN_GREATER = 4,
    KILN_UNORDERED = 8 /* a NaN */
} kiln_order;

kiln_order kiln_arith_compare(int64_t a, double b);

#endif /* KILN_CORE_ARITH_H */
