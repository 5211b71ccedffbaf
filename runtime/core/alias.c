/* alias.c: which operands may share memory. */
#include "plan.h"

/* The same elements at the same places. */
static bool exact_alias(const kiln_view *a, uintptr_t a_base,
                        const kiln_view *b, uintptr_t b_base)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim ||
        (uint64_t)a_base + (uint64_t)a->offset !=
            (uint64_t)b_base + (uint64_t)b->offset) {
        return false;
    }
    for (int d = 0; d < a->ndim; d++) {
        if (a->size[d] != b->size[d] ||
            (a->size[d] > 1 && a->stride[d] != b->stride[d])) {
            return false;
        }
    }
    return true;
}

/* Whether one ends before the other starts, as is most common by far. */
static bool apart(const kiln_operand *a, uintptr_t a_base,
                  const kiln_operand *b, uintptr_t b_base)
{
    uint64_t a_start = (uint64_t)a_base + (uint64_t)a->view.offset;
    uint64_t b_start = (uint64_t)b_base + (uint64_t)b->view.offset;

    return a_start < b_start ? b_start - a_start >= (uint64_t)a->bytes
                             : a_start - b_start >= (uint64_t)b->bytes;
}

kiln_status kiln_program_check_overlap(const kiln_op *op,
                                       const kiln_operand *operands, int n,
                                       const uintptr_t *base, kiln_error *err)
{
    for (int w = 0; w < n; w++) {
        const kiln_view *out = &operands[w].view;

        if (operands[w].role == KILN_IN || base[w] == 0 ||
            out->dtype == KILN_NONE) {
            continue;
        }
        for (int t = 0; t < n; t++) {
            const kiln_view *other = &operands[t].view;

            if (t == w || base[t] == 0 || other->dtype == KILN_NONE ||
                (t < w && operands[t].role != KILN_IN) ||
                apart(&operands[w], base[w], &operands[t], base[t]) ||
                !kiln_view_overlaps(out, base[w], other, base[t]) ||
                (op->in_place && operands[t].role == KILN_IN &&
                 exact_alias(out, base[w], other, base[t]))) {
                continue;
            }
            return kiln_fail(err, KILN_INVALID_ARGUMENT,
                             "op %s: tensor %s overlaps tensor %s%s", op->name,
                             op->tensors[w].name, op->tensors[t].name,
                             op->in_place
                                 ? "; only exactly the same elements may be "
                                   "shared"
                                 : "");
        }
    }
    return KILN_OK;
}
