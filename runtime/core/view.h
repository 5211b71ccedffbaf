/* view.h: tensors as metadata (dtype, sizes, strides, place in a buffer) and
 * the views that strides alone can express. Nothing here touches elements.
 */
#ifndef KILN_CORE_VIEW_H
#define KILN_CORE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

typedef struct kiln_view {
    uint8_t dtype; /* kiln_dtype; KILN_NONE: absent */
    uint8_t ndim;
    int32_t buffer; /* caller's tensor number, or temporaries after them */
    int64_t offset; /* bytes from the buffer's base pointer */
    int64_t size[KILN_MAX_RANK];
    int64_t stride[KILN_MAX_RANK]; /* in elements */
} kiln_view;

/* Product of the sizes; 1 for a scalar, 0 where any size is 0. false on int64
 * overflow or a negative size. */
bool kiln_view_numel(const kiln_view *view, int64_t *numel);
/* Any size is 0: no elements, whatever the other sizes are. */
bool kiln_view_is_empty(const kiln_view *view);
/* Byte extent [low, high) that elements touch, relative to the buffer's base;
 * empty (0, 0) when there are none. false on overflow. */
bool kiln_view_extent(const kiln_view *view, int64_t *low, int64_t *high);
/* Row-major strides for view's sizes. false on overflow. */
bool kiln_view_pack(kiln_view *view);
/* Two elements of the view share memory (stride 0 on a size above 1, or
 * strides that fold onto each other). Exact for nested strides, true when in
 * doubt. */
bool kiln_view_overlaps_itself(const kiln_view *view);
/* The two views, in one address space with bases a_base and b_base, share
 * bytes. Exact for boxes of one array, whatever the order of their dims, and
 * for interleaved strides; true when in doubt (beyond int64, or where strides
 * do not nest and an answer would take long). */
bool kiln_view_overlaps(const kiln_view *a, uintptr_t a_base,
                        const kiln_view *b, uintptr_t b_base);

/* Each makes *out from *in, or returns false with the reason in `why`; out
 * may be in. Dims may count from the end. A view that strides cannot express
 * is refused, never copied. In reshape one size may be -1: what is left over;
 * in expand -1 keeps a dim's size. */
bool kiln_view_reshape(kiln_view *out, const kiln_view *in,
                       const int64_t *sizes, int n, char *why, size_t cap);
bool kiln_view_merge(kiln_view *out, const kiln_view *in, int64_t first,
                     int64_t last, char *why, size_t cap);
bool kiln_view_transpose(kiln_view *out, const kiln_view *in, int64_t d0,
                         int64_t d1, char *why, size_t cap);
bool kiln_view_slice(kiln_view *out, const kiln_view *in, int64_t dim,
                     int64_t start, int64_t stop, char *why, size_t cap);
bool kiln_view_expand(kiln_view *out, const kiln_view *in, const int64_t *sizes,
                      int n, char *why, size_t cap);
/* Dim 1 of size n (heads) becomes [n / parts, parts]: [B, n, ...] to
 * [B, n / parts, parts, ...]; a size of 1 stays 1 in both. */
bool kiln_view_group(kiln_view *out, const kiln_view *in, int64_t parts,
                     char *why, size_t cap);

#endif /* KILN_CORE_VIEW_H */
