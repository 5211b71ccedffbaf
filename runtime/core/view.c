#include "view.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arith.h"

__attribute__((format(printf, 3, 4))) static bool
refuse(char *why, size_t cap, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, cap, format, args);
    va_end(args);
    return false;
}

bool kiln_view_numel(const kiln_view *view, int64_t *numel)
{
    int64_t product = 1;
    bool fits = true;

    assert(view->ndim <= KILN_MAX_RANK);
    for (int d = 0; d < view->ndim; d++) {
        if (view->size[d] == 0) {
            *numel = 0; /* whatever the other sizes are */
            return true;
        }
        fits = fits && view->size[d] > 0 &&
               kiln_arith_mul(product, view->size[d], &product);
    }
    if (fits)
        *numel = product;
    return fits;
}

bool kiln_view_is_empty(const kiln_view *view)
{
    for (int d = 0; d < view->ndim; d++) {
        if (view->size[d] == 0)
            return true;
    }
    return false;
}

bool kiln_view_extent(const kiln_view *view, int64_t *low, int64_t *high)
{
    int64_t bytes = kiln_dtype_size((kiln_dtype)view->dtype);
    int64_t first = 0, last = 0, numel, span;

    if (!kiln_view_numel(view, &numel))
        return false;
    if (numel == 0 || bytes == 0) {
        *low = *high = 0;
        return true;
    }
    for (int d = 0; d < view->ndim; d++) {
        int64_t *end = view->stride[d] < 0 ? &first : &last;

        if (!kiln_arith_mul(view->size[d] - 1, view->stride[d], &span) ||
            !kiln_arith_add(*end, span, end))
            return false;
    }
    return kiln_arith_mul(first, bytes, &first) &&
           kiln_arith_add(first, view->offset, low) &&
           kiln_arith_mul(last, bytes, &last) &&
           kiln_arith_add(last, bytes, &last) &&
           kiln_arith_add(last, view->offset, high);
}

bool kiln_view_pack(kiln_view *view)
{
    int64_t step = 1;

    assert(view->ndim <= KILN_MAX_RANK);
    for (int d = view->ndim - 1; d >= 0; d--) {
        int64_t size = view->size[d];

        if (size < 0)
            return false;
        view->stride[d] = step;
        if (size > 1 && !kiln_arith_mul(step, size, &step))
            return false;
    }
    return true;
}

/* A maximal group of neighbouring dims that one stride walks through. */
typedef struct run {
    int64_t size;
    int64_t stride;
} run;

/* Splits a view's dims into runs, outermost first; dims of size 1 vanish. */
static int find_runs(run *runs, const kiln_view *view)
{
    int n = 0;

    for (int d = 0; d < view->ndim; d++) {
        int64_t size = view->size[d], stride = view->stride[d], outer;

        if (size == 1)
            continue;
        if (n > 0 && kiln_arith_mul(size, stride, &outer) &&
            outer == runs[n - 1].stride) {
            runs[n - 1].size *= size; /* fits: numel does */
            runs[n - 1].stride = stride;
        } else {
            runs[n++] = (run){size, stride};
        }
    }
    return n;
}

/* Puts the sizes that are asked for into *out and fills in a single -1. */
static bool take_sizes(kiln_view *out, int64_t numel, const int64_t *sizes,
                       int n, char *why, size_t cap)
{
    int64_t product;
    int unknown = -1;

    if (n > KILN_MAX_RANK)
        return refuse(why, cap, "view: %d dims, at most %d are allowed", n,
                      KILN_MAX_RANK);
    out->ndim = (uint8_t)n;
    for (int d = 0; d < n; d++) {
        out->size[d] = sizes[d];
        if (sizes[d] == -1 && unknown < 0) {
            unknown = d;
            out->size[d] = 1;
        } else if (sizes[d] < 0) {
            return refuse(why, cap, "view: size %" PRId64 " of dim %d",
                          sizes[d], d);
        }
    }
    if (!kiln_view_numel(out, &product))
        return refuse(why, cap, "view: the sizes' product is outside int64");
    if (unknown >= 0) {
        if (product == 0 || numel % product != 0)
            return refuse(why, cap,
                          "view: %" PRId64 " elements cannot be divided by "
                          "sizes for %" PRId64,
                          numel, product);
        out->size[unknown] = numel / product;
    } else if (product != numel) {
        return refuse(why, cap,
                      "view: sizes for %" PRId64 " elements, the tensor has "
                      "%" PRId64,
                      product, numel);
    }
    return true;
}

/* Cuts runs, innermost first, into the sizes of *out. false: a size spans
 * two runs, or a stride leaves int64. */
static bool cut_runs(kiln_view *out, const run *runs, int n_runs)
{
    int d = out->ndim - 1;

    for (int r = n_runs - 1; r >= 0; r--) {
        int64_t left = runs[r].size, stride = runs[r].stride;

        for (; left > 1; d--) {
            assert(d >= 0);
            if (left % out->size[d] != 0)
                return false;
            out->stride[d] = stride;
            left /= out->size[d];
            if (left > 1 && !kiln_arith_mul(stride, out->size[d], &stride))
                return false;
        }
    }
    for (; d >= 0; d--)
        out->stride[d] = 1;
    return true;
}

bool kiln_view_reshape(kiln_view *out, const kiln_view *in,
                       const int64_t *sizes, int n, char *why, size_t cap)
{
    kiln_view made = *in;
    run runs[KILN_MAX_RANK];
    int64_t numel;

    if (!kiln_view_numel(in, &numel))
        return refuse(why, cap, "view: numel is outside int64");
    if (!take_sizes(&made, numel, sizes, n, why, cap))
        return false;
    if (numel == 0) {
        if (!kiln_view_pack(&made))
            return refuse(why, cap, "view: strides are outside int64");
    } else if (!cut_runs(&made, runs, find_runs(runs, in))) {
        return refuse(why, cap,
                      "view: strides cannot express it; pass a contiguous "
                      "tensor");
    }
    *out = made;
    return true;
}

/* Turns a dim that may count from the end into one from 0. */
static bool take_dim(const char *name, const kiln_view *in, int64_t *dim,
                     char *why, size_t cap)
{
    if (*dim < -in->ndim || *dim >= in->ndim)
        return refuse(why, cap,
                      "%s: dim %" PRId64 " of a tensor that has %d dims", name,
                      *dim, in->ndim);
    if (*dim < 0)
        *dim += in->ndim;
    return true;
}

/* The dims first .. last of `in` alone. */
static kiln_view take_span(const kiln_view *in, int first, int last)
{
    kiln_view span = *in;

    span.ndim = (uint8_t)(last - first + 1);
    for (int d = first; d <= last; d++) {
        span.size[d - first] = in->size[d];
        span.stride[d - first] = in->stride[d];
    }
    return span;
}

/* The stride of dims first .. last as one dim of `size` elements; any serves
 * a tensor without elements. */
static bool merged_stride(const kiln_view *in, int first, int last,
                          int64_t size, int64_t *stride)
{
    kiln_view span;
    int64_t all;

    *stride = in->stride[last];
    if (first == last || (kiln_view_numel(in, &all) && all == 0))
        return true;
    span = take_span(in, first, last);
    if (!kiln_view_reshape(&span, &span, &size, 1, NULL, 0))
        return false;
    *stride = span.stride[0];
    return true;
}

bool kiln_view_merge(kiln_view *out, const kiln_view *in, int64_t first,
                     int64_t last, char *why, size_t cap)
{
    kiln_view made = *in, span;
    int64_t size, stride;
    int gone;

    if (!take_dim("merge", in, &first, why, cap) ||
        !take_dim("merge", in, &last, why, cap))
        return false;
    if (first > last)
        return refuse(why, cap, "merge: dim %" PRId64 " is after %" PRId64,
                      first, last);
    span = take_span(in, (int)first, (int)last);
    if (!kiln_view_numel(&span, &size))
        return refuse(why, cap, "merge: the size is outside int64");
    if (!merged_stride(in, (int)first, (int)last, size, &stride))
        return refuse(why, cap,
                      "merge: no one stride walks through dims %" PRId64
                      " to %" PRId64 "; pass a contiguous tensor",
                      first, last);
    gone = (int)(last - first);
    made.ndim = (uint8_t)(in->ndim - gone);
    made.size[first] = size;
    made.stride[first] = stride;
    for (int d = (int)last + 1; d < in->ndim; d++) {
        made.size[d - gone] = in->size[d];
        made.stride[d - gone] = in->stride[d];
    }
    *out = made;
    return true;
}

bool kiln_view_transpose(kiln_view *out, const kiln_view *in, int64_t d0,
                         int64_t d1, char *why, size_t cap)
{
    kiln_view made = *in;

    if (!take_dim("transpose", in, &d0, why, cap) ||
        !take_dim("transpose", in, &d1, why, cap))
        return false;
    made.size[d0] = in->size[d1];
    made.stride[d0] = in->stride[d1];
    made.size[d1] = in->size[d0];
    made.stride[d1] = in->stride[d0];
    *out = made;
    return true;
}

bool kiln_view_slice(kiln_view *out, const kiln_view *in, int64_t dim,
                     int64_t start, int64_t stop, char *why, size_t cap)
{
    int64_t bytes = kiln_dtype_size((kiln_dtype)in->dtype);
    kiln_view made = *in;
    int64_t skip;

    if (!take_dim("slice", in, &dim, why, cap))
        return false;
    if (start < 0 || start > stop || stop > in->size[dim])
        return refuse(why, cap,
                      "slice: %" PRId64 " to %" PRId64 " of dim %" PRId64
                      ", whose size is %" PRId64,
                      start, stop, dim, in->size[dim]);
    if (!kiln_arith_mul(start, in->stride[dim], &skip) ||
        !kiln_arith_mul(skip, bytes, &skip) ||
        !kiln_arith_add(in->offset, skip, &made.offset))
        return refuse(why, cap, "slice: the offset is outside int64");
    made.size[dim] = stop - start;
    *out = made;
    return true;
}

bool kiln_view_expand(kiln_view *out, const kiln_view *in, const int64_t *sizes,
                      int n, char *why, size_t cap)
{
    kiln_view made = *in;
    int lead = n - in->ndim;

    if (n > KILN_MAX_RANK || lead < 0)
        return refuse(why, cap,
                      "expand: %d dims from %d, at most %d are "
                      "allowed",
                      n, in->ndim, KILN_MAX_RANK);
    made.ndim = (uint8_t)n;
    for (int d = 0; d < n; d++) {
        int64_t size = d < lead ? 1 : in->size[d - lead];
        int64_t want = d >= lead && sizes[d] == -1 ? size : sizes[d];

        if (want < 0 || (want != size && size != 1))
            return refuse(why, cap,
                          "expand: size %" PRId64 " of dim %d from %" PRId64,
                          sizes[d], d, size);
        made.size[d] = want;
        made.stride[d] = d >= lead && want == size ? in->stride[d - lead] : 0;
    }
    *out = made;
    return true;
}

bool kiln_view_group(kiln_view *out, const kiln_view *in, int64_t parts,
                     char *why, size_t cap)
{
    kiln_view made = *in;
    int64_t inner;

    if (in->ndim < 2 || in->ndim >= KILN_MAX_RANK)
        return refuse(why, cap,
                      "group: a tensor of %d dims, 2 to %d are "
                      "allowed",
                      in->ndim, KILN_MAX_RANK - 1);
    if (parts < 1 || (in->size[1] != 1 && in->size[1] % parts != 0))
        return refuse(why, cap,
                      "group: %" PRId64 " parts of dim 1, whose size is "
                      "%" PRId64,
                      parts, in->size[1]);
    inner = in->size[1] == 1 ? 1 : parts;
    if (!kiln_arith_mul(in->stride[1], inner, &made.stride[1]))
        return refuse(why, cap, "group: a stride is outside int64");
    made.ndim = (uint8_t)(in->ndim + 1);
    made.size[1] = in->size[1] / inner;
    made.size[2] = inner;
    made.stride[2] = in->stride[1];
    for (int d = 2; d < in->ndim; d++) {
        made.size[d + 1] = in->size[d];
        made.stride[d + 1] = in->stride[d];
    }
    *out = made;
    return true;
}
