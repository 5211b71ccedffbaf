/* bind.h: a call's tensors and attributes held against its op's declaration.
 */
#ifndef KILN_CORE_BIND_H
#define KILN_CORE_BIND_H

#include "error.h"
#include "expr.h"

#define KILN_MAX_TEMPORARIES 8 /* of one route */

/* One op being planned. */
typedef struct kiln_call {
    const kiln_op *op;
    int index;        /* of op in the tables */
    uint32_t scalars; /* bit t: tensor t came with rank 0 */
    bool inner;       /* of a step: there rank 0 and [1] are the same */
    int n_tensors;    /* op's, then temporaries of the chosen route */
    kiln_view tensors[KILN_MAX_TENSORS + KILN_MAX_TEMPORARIES];
    kiln_value attrs[KILN_MAX_ATTRS];
    kiln_value lets[KILN_MAX_LETS + 2]; /* two more for launch recipes */
} kiln_call;

/* Checks one DLPack tensor and fills its view (rank 0 becomes [1]); buffer is
 * the view's number. *bytes: from its first element's start to its last one's
 * end. NULL is an absent tensor. */
kiln_status kiln_bind_tensor(kiln_call *call, int index, const DLTensor *tensor,
                             DLDevice device, int64_t *bytes, kiln_error *err);
/* Fills call->attrs from attrs and defaults; names must be known, unique and
 * of the declared kind. */
kiln_status kiln_bind_attrs(kiln_call *call, const kiln_attr *attrs, int n,
                            kiln_error *err);
/* Presence, dtype rules, LIKE and BROADCAST shapes of call->tensors. */
kiln_status kiln_bind_check(const kiln_call *call, kiln_error *err);
/* Shapes given by expressions; needs lets. */
kiln_status kiln_bind_check_shapes(const kiln_call *call,
                                   const kiln_scope *scope, kiln_error *err);
/* Whether every output has zero elements. */
bool kiln_bind_empty(const kiln_call *call);

#endif /* KILN_CORE_BIND_H */
