/* expr_call.c: the calls of the expression language. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "expr_machine.h"
#include "key.h"

/* --- integers and numbers ------------------------------------------------ */

static bool need_ints(kiln_machine *m, const kiln_ins *ins, const kiln_value *v,
                      int n)
{
    for (int i = 0; i < n; i++) {
        if (v[i].kind != KILN_V_INT)
            return kiln_machine_mismatch(m, ins, "integers", &v[i]) != NULL;
    }
    return true;
}

static kiln_value *next_pow2(kiln_machine *m, kiln_value *v)
{
    if (v->i < 1)
        return kiln_machine_fail(
            m, "next_pow2(%" PRId64 "): its argument must be at least 1", v->i);
    if (!kiln_arith_next_pow2(v->i, &v->i))
        return kiln_machine_fail(m, "next_pow2(%" PRId64 ") is outside int64",
                                 v->i);
    return v + 1;
}

static kiln_value *popcount(kiln_machine *m, kiln_value *v)
{
    if (v->i < 0)
        return kiln_machine_fail(
            m, "popcount(%" PRId64 "): its argument must be at least 0", v->i);
    v->i = __builtin_popcountll((unsigned long long)v->i);
    return v + 1;
}

static kiln_value *align(kiln_machine *m, kiln_value *v)
{
    int64_t to = v[1].i;

    if (to <= 0)
        return kiln_machine_fail(
            m, "align(%" PRId64 ", %" PRId64 "): the multiple must be above 0",
            v->i, to);
    if (!kiln_arith_align(v->i, to, &v->i))
        return kiln_machine_fail(
            m, "align(%" PRId64 ", %" PRId64 ") is outside int64", v->i, to);
    return v + 1;
}

kiln_value *kiln_call_integers(kiln_machine *m, const kiln_ins *ins,
                               kiln_value *top)
{
    int n = ins->op == KILN_X_ALIGN ? 2 : 1;

    if (!need_ints(m, ins, top - n, n))
        return NULL;
    switch (ins->op) {
    case KILN_X_NEXT_POW2:
        return next_pow2(m, top - 1);
    case KILN_X_POPCOUNT:
        return popcount(m, top - 1);
    default:
        assert(ins->op == KILN_X_ALIGN);
        return align(m, top - 2);
    }
}

/* min and max: the first operand that no other beats. */
kiln_value *kiln_call_choose(kiln_machine *m, const kiln_ins *ins,
                             kiln_value *top)
{
    kiln_order wanted = ins->op == KILN_X_MIN ? KILN_LESS : KILN_GREATER;
    kiln_value *v = top - ins->argc;

    if (ins->argc < 1)
        return kiln_machine_malformed(m);
    for (int i = 0; i < ins->argc; i++) {
        if (!kiln_value_is_number(&v[i]))
            return kiln_machine_mismatch(m, ins, "numbers", &v[i]);
        if (kiln_machine_compare(&v[i], &v[0]) == wanted)
            v[0] = v[i];
    }
    return v + 1;
}

kiln_value *kiln_call_clamp(kiln_machine *m, const kiln_ins *ins,
                            kiln_value *top)
{
    kiln_value *v = top - 3;

    for (int i = 0; i < 3; i++) {
        if (!kiln_value_is_number(&v[i]))
            return kiln_machine_mismatch(m, ins, "numbers", &v[i]);
    }
    if (kiln_machine_compare(&v[1], &v[2]) == KILN_GREATER)
        return kiln_machine_fail(
            m, "clamp: its low end must be at most its high end");
    if (kiln_machine_compare(&v[0], &v[1]) == KILN_LESS)
        v[0] = v[1];
    else if (kiln_machine_compare(&v[0], &v[2]) == KILN_GREATER)
        v[0] = v[2];
    return v + 1;
}

/* The first edge at or above v. */
kiln_value *kiln_call_bucket(kiln_machine *m, const kiln_ins *ins,
                             kiln_value *top)
{
    const kiln_tables *tables = m->scope->tables;
    kiln_value *v = top - 1;
    const kiln_ladder *ladder;
    int at;

    if (tables == NULL || ins->i < 0 || ins->i >= tables->n_ladders)
        return kiln_machine_malformed(m);
    if (!need_ints(m, ins, v, 1))
        return NULL;
    ladder = &tables->ladders[ins->i];
    at = kiln_ladder_bucket(ladder, v->i);
    if (at < 0)
        return kiln_machine_fail(
            m, "bucket(%s, %" PRId64 "): the size must be 1 to %" PRId64,
            ladder->name, v->i,
            ladder->n_edges > 0 ? ladder->edges[ladder->n_edges - 1] : 0);
    v->i = ladder->edges[at];
    return v + 1;
}

/* --- tensors ------------------------------------------------------------- */

/* The view that v stands for, or NULL with why set. The machine's own view
 * is free again once its value is read: the caller pops it. */
static const kiln_view *take_view(kiln_machine *m, const kiln_ins *ins,
                                  const kiln_value *v)
{
    const kiln_view *view;

    if (v->kind != KILN_V_TENSOR) {
        kiln_machine_mismatch(m, ins, "a tensor", v);
        return NULL;
    }
    if (v->i < 0) {
        m->view_in_use = false;
        return m->view;
    }
    view = &m->scope->tensors[v->i];
    if (view->dtype == KILN_NONE && ins->op != KILN_X_PRESENT) {
        kiln_machine_fail(m, "%s: the tensor is absent",
                          kiln_machine_symbol(ins));
        return NULL;
    }
    return view;
}

static void put_int(kiln_value *v, int64_t i)
{
    v->kind = KILN_V_INT;
    v->i = i;
}

/* size and stride */
kiln_value *kiln_call_dim(kiln_machine *m, const kiln_ins *ins, kiln_value *top)
{
    kiln_value *v = top - 2;
    int64_t dim = v[1].i;
    const kiln_view *view = take_view(m, ins, v);
    int rank;

    if (view == NULL || !need_ints(m, ins, v + 1, 1))
        return NULL;
    rank = view->ndim > 0 ? view->ndim : 1;
    if (dim < -rank || dim >= rank)
        return kiln_machine_fail(
            m,
            "%s: dim %" PRId64 " must be %d to %d, as the tensor has %d dims",
            kiln_machine_symbol(ins), dim, -rank, rank - 1, view->ndim);
    dim = dim < 0 ? dim + rank : dim;
    if (view->ndim == 0)
        put_int(v, 1);
    else
        put_int(v,
                ins->op == KILN_X_SIZE ? view->size[dim] : view->stride[dim]);
    return v + 1;
}

/* What is asked of a tensor as a whole. */
kiln_value *kiln_call_tensor(kiln_machine *m, const kiln_ins *ins,
                             kiln_value *top)
{
    kiln_value *v = top - 1;
    const kiln_view *view = take_view(m, ins, v);
    int64_t numel;

    if (view == NULL)
        return NULL;
    switch (ins->op) {
    case KILN_X_NUMEL:
        if (!kiln_view_numel(view, &numel))
            return kiln_machine_fail(m, "numel is outside int64");
        put_int(v, numel);
        break;
    case KILN_X_RANK:
        put_int(v, view->ndim);
        break;
    case KILN_X_DTYPE:
        put_int(v, view->dtype);
        break;
    case KILN_X_DTYPE_SIZE:
        put_int(v, kiln_dtype_size((kiln_dtype)view->dtype));
        break;
    default:
        assert(ins->op == KILN_X_PRESENT);
        v->kind = KILN_V_BOOL;
        v->i = view->dtype != KILN_NONE;
    }
    return v + 1;
}

/* Applies a view operation with n integers to `in`. */
static bool make_view(kiln_machine *m, const kiln_ins *ins, const kiln_view *in,
                      const int64_t *i, int n)
{
    kiln_view *out = m->view;

    switch (ins->op) {
    case KILN_X_VIEW:
        return kiln_view_reshape(out, in, i, n, m->why, m->cap);
    case KILN_X_EXPAND:
        return kiln_view_expand(out, in, i, n, m->why, m->cap);
    case KILN_X_MERGE:
        return kiln_view_merge(out, in, i[0], i[1], m->why, m->cap);
    case KILN_X_SLICE:
        return kiln_view_slice(out, in, i[0], i[1], i[2], m->why, m->cap);
    case KILN_X_GROUP:
        return kiln_view_group(out, in, i[0], m->why, m->cap);
    default:
        assert(ins->op == KILN_X_TRANSPOSE);
        if (n != 0 && n != 2)
            return kiln_machine_malformed(m);
        return kiln_view_transpose(out, in, n == 2 ? i[0] : -2,
                                   n == 2 ? i[1] : -1, m->why, m->cap);
    }
}

static int operands(const kiln_ins *ins)
{
    switch (ins->op) {
    case KILN_X_MERGE:
        return 3;
    case KILN_X_SLICE:
        return 4;
    case KILN_X_GROUP:
        return 2;
    default:
        return ins->argc;
    }
}

kiln_value *kiln_call_view(kiln_machine *m, const kiln_ins *ins,
                           kiln_value *top)
{
    int n = operands(ins) - 1;
    kiln_value *v = top - (n + 1);
    int64_t i[KILN_EXPR_STACK];
    const kiln_view *in;

    if (n < 0)
        return kiln_machine_malformed(m);
    in = take_view(m, ins, v);
    if (in == NULL || !need_ints(m, ins, v + 1, n))
        return NULL;
    if (m->view_in_use)
        return kiln_machine_fail(
            m, "%s: an expression can hold only one view at a time",
            kiln_machine_symbol(ins));
    for (int k = 0; k < n; k++)
        i[k] = v[k + 1].i;
    if (!make_view(m, ins, in, i, n))
        return NULL;
    m->view_in_use = true;
    v->kind = KILN_V_TENSOR;
    v->i = -1;
    return v + 1;
}
