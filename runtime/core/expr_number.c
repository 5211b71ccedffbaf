/* expr_number.c: arithmetic and comparisons of the expression language. */
#include <inttypes.h>
#include <math.h>

#include "expr_machine.h"

/* --- arithmetic ---------------------------------------------------------- */

static kiln_value *overflow(kiln_machine *m, const kiln_ins *ins, int64_t a,
                            int64_t b)
{
    const char *symbol = kiln_machine_symbol(ins);

    if (ins->op == KILN_X_CDIV)
        return kiln_machine_fail(
            m, "cdiv(%" PRId64 ", %" PRId64 ") is outside int64", a, b);
    return kiln_machine_fail(m, "%" PRId64 " %s %" PRId64 " is outside int64",
                             a, symbol, b);
}

kiln_value *kiln_number_negate(kiln_machine *m, const kiln_ins *ins,
                               kiln_value *top)
{
    kiln_value *v = top - 1;

    if (v->kind == KILN_V_FLOAT) {
        v->f = -v->f;
        return top;
    }
    if (v->kind != KILN_V_INT)
        return kiln_machine_mismatch(m, ins, "a number", v);
    if (!kiln_arith_sub(0, v->i, &v->i))
        return kiln_machine_fail(m, "-(%" PRId64 ") is outside int64", v->i);
    return top;
}

static kiln_value *not_numbers(kiln_machine *m, const kiln_ins *ins,
                               const kiln_value *a, const kiln_value *b)
{
    return kiln_machine_mismatch(m, ins, "numbers",
                                 kiln_value_is_number(a) ? b : a);
}

/* a = a op b, where one or both are floats, or op is `/`. */
static kiln_value *float_arithmetic(kiln_machine *m, const kiln_ins *ins,
                                    kiln_value *a, const kiln_value *b)
{
    double x, y;

    if (!kiln_value_is_number(a) || !kiln_value_is_number(b))
        return not_numbers(m, ins, a, b);
    x = kiln_value_as_float(a);
    y = kiln_value_as_float(b);
    if (ins->op == KILN_X_DIV && y == 0)
        return kiln_machine_fail(m, "/ by 0: division by zero");
    a->kind = KILN_V_FLOAT;
    a->f = ins->op == KILN_X_ADD   ? x + y
           : ins->op == KILN_X_SUB ? x - y
           : ins->op == KILN_X_MUL ? x * y
                                   : x / y;
    return a + 1;
}

kiln_value *kiln_number_arithmetic(kiln_machine *m, const kiln_ins *ins,
                                   kiln_value *top)
{
    kiln_value *a = top - 2;
    const kiln_value *b = top - 1;
    bool fits;

    if (a->kind != KILN_V_INT || b->kind != KILN_V_INT || ins->op == KILN_X_DIV)
        return float_arithmetic(m, ins, a, b);
    if (ins->op == KILN_X_ADD)
        fits = kiln_arith_add(a->i, b->i, &a->i);
    else if (ins->op == KILN_X_SUB)
        fits = kiln_arith_sub(a->i, b->i, &a->i);
    else
        fits = kiln_arith_mul(a->i, b->i, &a->i);
    return fits ? a + 1 : overflow(m, ins, a->i, b->i);
}

kiln_value *kiln_number_divide(kiln_machine *m, const kiln_ins *ins,
                               kiln_value *top)
{
    kiln_value *a = top - 2;
    const kiln_value *b = top - 1;
    bool fits = true;

    if (a->kind != KILN_V_INT || b->kind != KILN_V_INT)
        return kiln_machine_mismatch(m, ins, "integers",
                                     a->kind == KILN_V_INT ? b : a);
    if (b->i == 0)
        return kiln_machine_fail(m, "%s of %" PRId64 " by 0: division by zero",
                                 kiln_machine_symbol(ins), a->i);
    if (ins->op == KILN_X_FLOORDIV)
        fits = kiln_arith_floordiv(a->i, b->i, &a->i);
    else if (ins->op == KILN_X_CDIV)
        fits = kiln_arith_cdiv(a->i, b->i, &a->i);
    else
        a->i = kiln_arith_mod(a->i, b->i);
    return fits ? a + 1 : overflow(m, ins, a->i, b->i);
}

/* --- comparisons --------------------------------------------------------- */

/* The order of b and a from that of a and b. */
static kiln_order reverse(kiln_order order)
{
    if (order == KILN_LESS)
        return KILN_GREATER;
    return order == KILN_GREATER ? KILN_LESS : order;
}

kiln_order kiln_machine_compare(const kiln_value *a, const kiln_value *b)
{
    if (a->kind != KILN_V_FLOAT && b->kind != KILN_V_FLOAT)
        return a->i < b->i   ? KILN_LESS
               : a->i > b->i ? KILN_GREATER
                             : KILN_EQUAL;
    if (a->kind != KILN_V_FLOAT)
        return kiln_arith_compare(a->i, b->f);
    if (b->kind != KILN_V_FLOAT)
        return reverse(kiln_arith_compare(b->i, a->f));
    if (isnan(a->f) || isnan(b->f))
        return KILN_UNORDERED;
    return a->f < b->f ? KILN_LESS : a->f > b->f ? KILN_GREATER : KILN_EQUAL;
}

/* The orders for which a comparison holds, by opcode from KILN_X_EQ on. */
static const int HOLDS[] = {
    KILN_EQUAL,   KILN_LESS | KILN_GREATER | KILN_UNORDERED,
    KILN_LESS,    KILN_LESS | KILN_EQUAL,
    KILN_GREATER, KILN_GREATER | KILN_EQUAL,
};

kiln_value *kiln_number_compare(kiln_machine *m, const kiln_ins *ins,
                                kiln_value *top)
{
    kiln_value *a = top - 2;
    const kiln_value *b = top - 1;
    bool bools = a->kind == KILN_V_BOOL && b->kind == KILN_V_BOOL &&
                 ins->op <= KILN_X_NE;

    if (!bools && !(kiln_value_is_number(a) && kiln_value_is_number(b))) {
        if (a->kind == KILN_V_BOOL && ins->op <= KILN_X_NE)
            return kiln_machine_mismatch(m, ins, "two bools", b);
        return not_numbers(m, ins, a, b);
    }
    a->i = (HOLDS[ins->op - KILN_X_EQ] & (int)kiln_machine_compare(a, b)) != 0;
    a->kind = KILN_V_BOOL;
    return a + 1;
}
