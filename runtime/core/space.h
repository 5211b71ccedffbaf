/* space.h: a call's iteration space in canonical form: as few outer dims as
 * strides allow, and one dim set apart (the row), which kernels walk inside.
 */
#ifndef KILN_CORE_SPACE_H
#define KILN_CORE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tables.h"
#include "view.h"

/* ORDER: the names are in kiln_layout_name and in keys. */
typedef enum kiln_layout {
    KILN_CONTIGUOUS = 0, /* rows follow one another, elements too */
    KILN_INNER,          /* unit stride along the row */
    KILN_GENERAL,        /* any strides */
    KILN_LAYOUT_COUNT
} kiln_layout;

/* The two alignment classes: every row of every tensor starts at a multiple
 * of 16 bytes, or they are as aligned as their elements; in the general layout
 * they always count as that. */
#define KILN_VECTOR_LOG2 4

typedef struct kiln_space {
    int32_t rank; /* outer dims, outermost first */
    uint8_t layout;
    uint8_t align_log2; /* alignment class: KILN_VECTOR_LOG2 or 0 */
    bool wide;          /* some element offset exceeds int32 */
    int64_t rows;       /* product of the outer sizes */
    int64_t row_size;
    int64_t size[KILN_MAX_RANK];
    int64_t stride[KILN_MAX_TENSORS][KILN_MAX_RANK];
    int64_t row_stride[KILN_MAX_TENSORS];
} kiln_space;

const char *kiln_layout_name(int layout);

/* The shape that all inputs broadcast to (PyTorch's rule: aligned at the last
 * dim, sizes equal or 1). false when they do not, naming the dim in why. */
bool kiln_space_broadcast(const kiln_op *op, const kiln_view *tensors,
                          int64_t *size, int *ndim, char *why, size_t cap);

/* Whether each tensor has the space's sizes, or 1 where it is broadcast or,
 * along the row, reduced. false naming tensor and dim in why. */
bool kiln_space_fits(const kiln_op *op, const kiln_view *tensors, int row_dim,
                     char *why, size_t cap);

/* Canonicalises op's tensors (absent ones have dtype KILN_NONE), which fit.
 * row_dim is used by KILN_SPACE_ROWS alone. base[i]: address of tensor i's
 * buffer, or 0 for one taken as 256-byte aligned. KILN_SPACE_NONE gives one
 * row of one element, and classes by the tensors' own strides. */
void kiln_space_make(kiln_space *space, const kiln_op *op,
                     const kiln_view *tensors, const uintptr_t *base,
                     int row_dim);

#endif /* KILN_CORE_SPACE_H */
