/* expr_machine.h: the state of a running expression, shared by expr.c (values,
 * truth, jumps), expr_number.c (arithmetic) and expr_call.c (calls). Not for
 * others.
 */
#ifndef KILN_CORE_EXPR_MACHINE_H
#define KILN_CORE_EXPR_MACHINE_H

#include "arith.h"
#include "expr.h"

typedef struct kiln_machine {
    const kiln_scope *scope;
    kiln_view *view;  /* the one view that the expression may have made */
    bool view_in_use; /* a value on the stack stands for it */
    int64_t skip;     /* instructions to jump over */
    char *why;
    size_t cap;
    kiln_value stack[KILN_EXPR_STACK];
} kiln_machine;

/* Runs one instruction whose operands are known to be on the stack. `top` is
 * one past the value pushed last; the new top is returned, NULL on failure.
 * (Passed along, it stays in a register: half the time of an instruction.) */
typedef kiln_value *kiln_operation(kiln_machine *m, const kiln_ins *ins,
                                   kiln_value *top);

/* Sets why; always NULL. */
__attribute__((format(printf, 2, 3))) kiln_value *
kiln_machine_fail(kiln_machine *m, const char *format, ...);
/* The failures of code that no compiler of ours wrote. */
kiln_value *kiln_machine_malformed(kiln_machine *m);
/* "+ needs an int, not a bool" */
kiln_value *kiln_machine_mismatch(kiln_machine *m, const kiln_ins *ins,
                                  const char *needs, const kiln_value *got);
/* The operation as written in a spec: "+", "cdiv". */
const char *kiln_machine_symbol(const kiln_ins *ins);
/* Of two numbers, each an int or a float. */
kiln_order kiln_machine_compare(const kiln_value *a, const kiln_value *b);

static inline bool kiln_value_is_number(const kiln_value *v)
{
    return v->kind == KILN_V_INT || v->kind == KILN_V_FLOAT;
}

static inline double kiln_value_as_float(const kiln_value *v)
{
    return v->kind == KILN_V_INT ? (double)v->i : v->f;
}

kiln_operation kiln_number_negate, kiln_number_arithmetic, kiln_number_divide,
    kiln_number_compare;
/* Calls: operands are the last `argc` values; the result takes their place. */
kiln_operation kiln_call_integers, kiln_call_choose, kiln_call_clamp,
    kiln_call_bucket, kiln_call_dim, kiln_call_tensor, kiln_call_view;

#endif /* KILN_CORE_EXPR_MACHINE_H */
