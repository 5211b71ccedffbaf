/* view_overlap.c: whether views share memory; the part of view.h that compares.
 *
 * Two views of one array are walked from the largest stride (the pitch) down.
 * At each level a view is `count` copies, a pitch apart, of what the smaller
 * strides cover, its span. Copies i of a and j of b can only meet where the
 * spans do, so only few differences i - j are left to look at, one level
 * down. At the bottom two elements are compared. With strides that nest this
 * is exact; what takes too many steps counts as overlapping.
 */
#include <assert.h>
#include <stdlib.h>

#include "arith.h"
#include "view.h"

#define MAX_STEPS 256

/* A view in bytes from its lowest element: strides above 0, largest first. */
typedef struct walk {
    int n;
    int64_t element; /* bytes */
    int64_t size[KILN_MAX_RANK];
    int64_t stride[KILN_MAX_RANK];
    int64_t span[KILN_MAX_RANK + 1]; /* bytes that dims d .. n-1 cover */
} walk;

/* Inserts a dim so that strides descend. */
static void insert(walk *w, int64_t size, int64_t stride)
{
    int at = w->n++;

    for (; at > 0 && w->stride[at - 1] < stride; at--) {
        w->size[at] = w->size[at - 1];
        w->stride[at] = w->stride[at - 1];
    }
    w->size[at] = size;
    w->stride[at] = stride;
}

/* The view's extent has been taken: no product below leaves int64. */
static void make_walk(walk *w, const kiln_view *view)
{
    w->n = 0;
    w->element = kiln_dtype_size((kiln_dtype)view->dtype);
    for (int d = 0; d < view->ndim; d++) {
        if (view->size[d] > 1 && view->stride[d] != 0)
            insert(w, view->size[d], llabs(view->stride[d]) * w->element);
    }
    w->span[w->n] = w->element;
    for (int d = w->n - 1; d >= 0; d--)
        w->span[d] = w->span[d + 1] + (w->size[d] - 1) * w->stride[d];
}

bool kiln_view_overlaps_itself(const kiln_view *view)
{
    walk w;
    int64_t numel, low, high;

    if (!kiln_view_numel(view, &numel) || !kiln_view_extent(view, &low, &high))
        return true;
    if (numel <= 1 || low == high)
        return false;
    if (!kiln_arith_sub(high, low, &high))
        return true;
    for (int d = 0; d < view->ndim; d++) {
        if (view->size[d] > 1 && view->stride[d] == 0)
            return true;
    }
    make_walk(&w, view);
    for (int d = 0; d < w.n; d++) {
        if (w.stride[d] < w.span[d + 1])
            return true;
    }
    return false;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* All strides are multiples of g, so starts keep their distance modulo g:
 * whether both elements fit beside each other there. */
static bool interleaved(const walk *a, const walk *b, int64_t distance)
{
    int64_t g = 0, place;

    for (int d = 0; d < a->n; d++)
        g = gcd(g, a->stride[d]);
    for (int d = 0; d < b->n; d++)
        g = gcd(g, b->stride[d]);
    if (g == 0)
        return false;
    place = kiln_arith_mod(distance, g);
    return place >= a->element && g - place >= b->element;
}

/* One level: copies of the pitch, and the bytes each copy spans. */
typedef struct level {
    int64_t count;
    int64_t span;
    int next; /* dim to go on with */
} level;

static level at_pitch(const walk *w, int d, int64_t pitch)
{
    if (d < w->n && w->stride[d] == pitch)
        return (level){w->size[d], w->span[d + 1], d + 1};
    return (level){1, w->span[d], d};
}

/* Whether dims da .. of a meet dims db .. of b, which start `distance` bytes
 * further on. Copies i of a and j of b meet only for
 * distance - span_a < (i - j) * pitch < distance + span_b. */
static bool meet(const walk *a, int da, const walk *b, int db, int64_t distance,
                 int *steps)
{
    int64_t pitch = 0, low, high;
    level la, lb;

    if (++*steps > MAX_STEPS)
        return true;
    if (da < a->n)
        pitch = a->stride[da];
    if (db < b->n && b->stride[db] > pitch)
        pitch = b->stride[db];
    if (pitch == 0)
        return distance < a->element && -distance < b->element;
    la = at_pitch(a, da, pitch);
    lb = at_pitch(b, db, pitch);
    if (!kiln_arith_sub(distance, la.span, &low) ||
        !kiln_arith_add(distance, lb.span, &high) ||
        !kiln_arith_floordiv(low, pitch, &low) ||
        !kiln_arith_cdiv(high, pitch, &high))
        return true;
    low = low + 1 > 1 - lb.count ? low + 1 : 1 - lb.count;
    high = high - 1 < la.count - 1 ? high - 1 : la.count - 1;
    for (int64_t k = low; k <= high; k++) {
        if (meet(a, la.next, b, lb.next, distance - k * pitch, steps))
            return true;
    }
    return false;
}

/* b's lowest byte less a's, and whether the extents have a byte in common.
 * Sets *unknown where the arithmetic leaves int64. */
static bool extents_meet(const kiln_view *a, uintptr_t a_base,
                         const kiln_view *b, uintptr_t b_base,
                         int64_t *distance, bool *unknown)
{
    uintptr_t apart = b_base >= a_base ? b_base - a_base : a_base - b_base;
    int64_t a_low, a_high, b_low, b_high, b_end, end;

    *unknown = true;
    if (!kiln_view_extent(a, &a_low, &a_high) ||
        !kiln_view_extent(b, &b_low, &b_high))
        return true;
    *unknown = false;
    if (a_low == a_high || b_low == b_high)
        return false;
    *unknown =
        apart > INT64_MAX || !kiln_arith_sub(b_low, a_low, distance) ||
        !kiln_arith_add(*distance,
                        b_base >= a_base ? (int64_t)apart : -(int64_t)apart,
                        distance) ||
        !kiln_arith_sub(a_high, a_low, &end) ||
        !kiln_arith_sub(b_high, b_low, &b_end) ||
        !kiln_arith_add(*distance, b_end, &b_end);
    return *unknown || (*distance < end && b_end > 0);
}

bool kiln_view_overlaps(const kiln_view *a, uintptr_t a_base,
                        const kiln_view *b, uintptr_t b_base)
{
    walk wa, wb;
    int64_t distance = 0;
    bool unknown;
    int steps = 0;

    if (!extents_meet(a, a_base, b, b_base, &distance, &unknown))
        return false;
    if (unknown)
        return true;
    make_walk(&wa, a);
    make_walk(&wb, b);
    return !interleaved(&wa, &wb, distance) &&
           meet(&wa, 0, &wb, 0, distance, &steps);
}
