#include "space.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* One dim of the iteration space with every tensor's stride along it. */
typedef struct dim {
    int64_t size;
    int64_t stride[KILN_MAX_TENSORS];
} dim;

const char *kiln_layout_name(int layout)
{
    static const char *const names[] = {"contiguous", "inner", "general"};

    return layout >= 0 && layout < KILN_LAYOUT_COUNT ? names[layout] : "?";
}

/* Size of view's dim d counted in a space of ndim dims, aligned at the last. */
static int64_t aligned_size(const kiln_view *view, int ndim, int d)
{
    int own = d - (ndim - view->ndim);

    return own < 0 ? 1 : view->size[own];
}

static int64_t aligned_stride(const kiln_view *view, int ndim, int d)
{
    int own = d - (ndim - view->ndim);

    return own < 0 || view->size[own] == 1 ? 0 : view->stride[own];
}

bool kiln_space_broadcast(const kiln_op *op, const kiln_view *tensors,
                          int64_t *size, int *ndim, char *why, size_t cap)
{
    int rank = 0;

    for (int t = 0; t < op->n_tensors; t++) {
        if (op->tensors[t].role != KILN_OUT && tensors[t].ndim > rank) {
            rank = tensors[t].ndim;
        }
    }
    for (int d = 0; d < rank; d++) {
        size[d] = 1;
        for (int t = 0; t < op->n_tensors; t++) {
            int64_t s = aligned_size(&tensors[t], rank, d);

            if (op->tensors[t].role == KILN_OUT || s == 1 || s == size[d] ||
                tensors[t].dtype == KILN_NONE) {
                continue;
            }
            if (size[d] != 1) {
                (void)snprintf(why, cap,
                               "tensor %s: size %lld at dim %d does not "
                               "broadcast with %lld",
                               op->tensors[t].name, (long long)s, d - rank,
                               (long long)size[d]);
                return false;
            }
            size[d] = s;
        }
    }
    *ndim = rank;
    return true;
}

/* Number of the tensor whose sizes the space has. */
static int space_tensor(const kiln_op *op)
{
    if (op->space == KILN_SPACE_ROWS) {
        return 0;
    }
    for (int t = 0; t < op->n_tensors; t++) {
        if (op->tensors[t].role != KILN_IN) {
            return t;
        }
    }
    return 0;
}

/* The first dim, counted in a space of shape's rank (from below 0 where the
 * tensor has more), at which tensor t cannot follow the space; else the rank.
 * A written tensor is never broadcast, but along a row it may be reduced. */
static int misfit(const kiln_op *op, const kiln_view *view, int t,
                  const kiln_view *shape, int row_dim)
{
    int d = shape->ndim < view->ndim ? shape->ndim - view->ndim : 0;

    for (; d < shape->ndim; d++) {
        int64_t size = aligned_size(view, shape->ndim, d);
        int64_t wanted = d < 0 ? 1 : shape->size[d];

        if (size != wanted &&
            (size != 1 || (op->tensors[t].role != KILN_IN &&
                           (op->space != KILN_SPACE_ROWS || d != row_dim)))) {
            break;
        }
    }
    return d;
}

bool kiln_space_fits(const kiln_op *op, const kiln_view *tensors, int row_dim,
                     char *why, size_t cap)
{
    int whole = space_tensor(op);
    const kiln_view *shape = &tensors[whole];

    if (op->space == KILN_SPACE_NONE) {
        return true;
    }
    for (int t = 0; t < op->n_tensors; t++) {
        int d = tensors[t].dtype == KILN_NONE
                    ? shape->ndim
                    : misfit(op, &tensors[t], t, shape, row_dim);

        if (d < shape->ndim) {
            (void)snprintf(why, cap,
                           "tensor %s: size %lld at dim %d does not fit "
                           "%lld of tensor %s",
                           op->tensors[t].name,
                           (long long)aligned_size(&tensors[t], shape->ndim, d),
                           d - shape->ndim,
                           d < 0 ? 1LL : (long long)shape->size[d],
                           op->tensors[whole].name);
            return false;
        }
    }
    return true;
}

static void get_dim(dim *out, const kiln_op *op, const kiln_view *tensors,
                    int ndim, int d, int64_t size)
{
    out->size = size;
    for (int t = 0; t < op->n_tensors; t++) {
        out->stride[t] = tensors[t].dtype == KILN_NONE
                             ? 0
                             : aligned_stride(&tensors[t], ndim, d);
    }
}

/* Whether a should be outside b: by the stride of the first tensor that is
 * written, then of the others, so that equally permuted tensors come out
 * contiguous. */
static bool outside(const dim *a, const dim *b, const kiln_op *op)
{
    for (int written = 1; written >= 0; written--) {
        for (int t = 0; t < op->n_tensors; t++) {
            if ((op->tensors[t].role != KILN_IN) == (written == 1) &&
                a->stride[t] != b->stride[t]) {
                return a->stride[t] > b->stride[t];
            }
        }
    }
    return false;
}

static void sort_dims(dim *dims, int n, const kiln_op *op)
{
    for (int i = 1; i < n; i++) {
        dim moved = dims[i];
        int j = i;

        while (j > 0 && outside(&moved, &dims[j - 1], op)) {
            dims[j] = dims[j - 1];
            j--;
        }
        dims[j] = moved;
    }
}

static bool mergeable(const dim *outer, const dim *inner, int n_tensors)
{
    for (int t = 0; t < n_tensors; t++) {
        int64_t span;

        if (__builtin_mul_overflow(inner->stride[t], inner->size, &span) ||
            outer->stride[t] != span) {
            return false;
        }
    }
    return true;
}

static int merge_dims(dim *dims, int n, int n_tensors)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        if (kept > 0 && mergeable(&dims[kept - 1], &dims[i], n_tensors)) {
            dims[kept - 1].size *= dims[i].size;
            memcpy(dims[kept - 1].stride, dims[i].stride,
                   sizeof dims[i].stride);
        } else {
            dims[kept++] = dims[i];
        }
    }
    return kept;
}

static void unit_row(dim *row, const kiln_op *op)
{
    row->size = 1;
    for (int t = 0; t < op->n_tensors; t++) {
        row->stride[t] = 1;
    }
}

/* Collects the outer dims, sizes above 1 only, and the row. */
static int collect(dim *dims, dim *row, const kiln_op *op,
                   const kiln_view *tensors, int row_dim)
{
    const kiln_view *shape = &tensors[space_tensor(op)];
    int n = 0;

    unit_row(row, op);
    for (int d = 0; d < shape->ndim; d++) {
        if (shape->size[d] == 1) {
            continue;
        }
        if (op->space == KILN_SPACE_ROWS && d == row_dim) {
            get_dim(row, op, tensors, shape->ndim, d, shape->size[d]);
        } else {
            get_dim(&dims[n++], op, tensors, shape->ndim, d, shape->size[d]);
        }
    }
    sort_dims(dims, n, op);
    n = merge_dims(dims, n, op->n_tensors);
    if (op->space == KILN_SPACE_BROADCAST && n > 0) {
        *row = dims[--n];
    }
    return n;
}

static int layout_of(const kiln_space *space, const kiln_op *op,
                     const kiln_view *tensors)
{
    bool dense =
        space->rank == 0 || (space->rank == 1 && op->space == KILN_SPACE_ROWS);

    for (int t = 0; t < op->n_tensors; t++) {
        if (tensors[t].dtype == KILN_NONE) {
            continue;
        }
        if (space->row_stride[t] != 1) {
            return KILN_GENERAL;
        }
        dense = dense &&
                (space->rank == 0 || space->stride[t][0] == space->row_size);
    }
    return dense ? KILN_CONTIGUOUS : KILN_INNER;
}

/* Bits that some row's start has set, and the last element's offset, of
 * tensor t. Sums fit: they are part of the view's byte extent. */
static void follow_space(const kiln_space *space, int t, int64_t bytes,
                         uint64_t *bits, int64_t *reach)
{
    *reach = (space->row_size - 1) * space->row_stride[t];
    for (int d = 0; d < space->rank; d++) {
        *bits |= (uint64_t)(space->stride[t][d] * bytes);
        *reach += (space->size[d] - 1) * space->stride[t][d];
    }
}

/* The same by the view's own dims, its rows being those of unit stride. */
static void follow_view(const kiln_view *view, int64_t bytes, uint64_t *bits,
                        int64_t *reach)
{
    *reach = 0;
    for (int d = 0; d < view->ndim; d++) {
        if (view->size[d] > 1) {
            *bits |=
                view->stride[d] == 1 ? 0 : (uint64_t)(view->stride[d] * bytes);
            *reach += (view->size[d] - 1) * view->stride[d];
        }
    }
}

static void classify(kiln_space *space, const kiln_op *op,
                     const kiln_view *tensors, const uintptr_t *base)
{
    uint64_t all = 0;

    space->wide = false;
    for (int t = 0; t < op->n_tensors; t++) {
        int64_t bytes = kiln_dtype_size(tensors[t].dtype);
        uint64_t bits;
        int64_t reach;

        if (tensors[t].dtype == KILN_NONE) {
            continue;
        }
        bits = (uint64_t)base[t] + (uint64_t)tensors[t].offset;
        if (op->space == KILN_SPACE_NONE) {
            follow_view(&tensors[t], bytes, &bits, &reach);
        } else {
            follow_space(space, t, bytes, &bits, &reach);
        }
        all |= bits;
        space->wide = space->wide || reach > INT32_MAX;
    }
    space->layout = (uint8_t)layout_of(space, op, tensors);
    space->align_log2 =
        space->layout != KILN_GENERAL && all % (1 << KILN_VECTOR_LOG2) == 0
            ? KILN_VECTOR_LOG2
            : 0;
}

void kiln_space_make(kiln_space *space, const kiln_op *op,
                     const kiln_view *tensors, const uintptr_t *base,
                     int row_dim)
{
    dim dims[KILN_MAX_RANK];
    dim row;
    int n = 0;

    if (op->space == KILN_SPACE_NONE) {
        unit_row(&row, op);
    } else {
        n = collect(dims, &row, op, tensors, row_dim);
    }
    space->rank = n;
    space->rows = 1;
    space->row_size = row.size;
    for (int d = 0; d < n; d++) {
        space->size[d] = dims[d].size;
        space->rows *= dims[d].size;
    }
    for (int t = 0; t < op->n_tensors; t++) {
        space->row_stride[t] = row.stride[t];
        for (int d = 0; d < n; d++) {
            space->stride[t][d] = dims[d].stride[t];
        }
    }
    classify(space, op, tensors, base);
}
