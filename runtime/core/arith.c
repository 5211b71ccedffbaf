#include "arith.h"

#include <assert.h>
#include <stddef.h>

bool kiln_arith_floordiv(int64_t a, int64_t b, int64_t *r)
{
    assert(b != 0 && r != NULL);
    if (a == INT64_MIN && b == -1)
        return false;
    *r = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

int64_t kiln_arith_mod(int64_t a, int64_t b)
{
    int64_t rest;

    assert(b != 0);
    if (b == -1)
        return 0; /* INT64_MIN % -1 is undefined in C */
    rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool kiln_arith_cdiv(int64_t a, int64_t b, int64_t *r)
{
    assert(b != 0 && r != NULL);
    if (a == INT64_MIN && b == -1)
        return false;
    *r = a / b + (a % b != 0 && (a < 0) == (b < 0));
    return true;
}

bool kiln_arith_align(int64_t v, int64_t to, int64_t *r)
{
    int64_t rest;

    assert(to > 0 && r != NULL);
    rest = kiln_arith_mod(v, to);
    return kiln_arith_add(v, rest == 0 ? 0 : to - rest, r);
}

bool kiln_arith_next_pow2(int64_t a, int64_t *r)
{
    int64_t power = 1;

    assert(a >= 1 && r != NULL);
    if (a > INT64_C(1) << 62)
        return false;
    if (a > 1)
        power = INT64_C(1) << (64 - __builtin_clzll((uint64_t)a - 1));
    *r = power;
    return true;
}

/* Between the bounds the whole part of b is an int64, and two integers
 * compare exactly; the part below the point then breaks a tie. */
kiln_order kiln_arith_compare(int64_t a, double b)
{
    const double bound = 9223372036854775808.0; /* 2^63 */
    int64_t whole;
    double part;

    if (b != b)
        return KILN_UNORDERED;
    if (b >= bound)
        return KILN_LESS;
    if (b < -bound)
        return KILN_GREATER;
    whole = (int64_t)b;
    if (a != whole)
        return a < whole ? KILN_LESS : KILN_GREATER;
    part = b - (double)whole;
    if (part > 0)
        return KILN_LESS;
    return part < 0 ? KILN_GREATER : KILN_EQUAL;
}
