/* sources: runtime/core/view.c runtime/core/view_overlap.c
 * runtime/core/arith.c runtime/core/dtype.c */
/* Views are checked by listing where each element lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/view.h"

#define BUFFER 16384

static char why[200];

static kiln_view make(kiln_dtype dtype, int ndim, const int64_t *sizes,
                      const int64_t *strides)
{
    kiln_view view;

    memset(&view, 0x5a, sizeof view); /* nothing past ndim may matter */
    view.dtype = (uint8_t)dtype;
    view.ndim = (uint8_t)ndim;
    view.buffer = 0;
    view.offset = 0;
    for (int d = 0; d < ndim; d++) {
        view.size[d] = sizes[d];
        view.stride[d] = strides == NULL ? 0 : strides[d];
    }
    if (strides == NULL)
        assert_true(kiln_view_pack(&view));
    return view;
}

static uint64_t random_state = 1;

/* xorshift64*, Vigna 2016: any mixed bits will do here. */
static int64_t random_int(int64_t low, int64_t high)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return low +
           (int64_t)((random_state * UINT64_C(2685821657736338717) >> 33) %
                     (uint64_t)(high - low + 1));
}

/* Byte offset of element number i in row-major order. */
static int64_t place(const kiln_view *view, int64_t i)
{
    int64_t at = view->offset;

    for (int d = view->ndim - 1; d >= 0; d--) {
        at += i % view->size[d] * view->stride[d] *
              kiln_dtype_size((kiln_dtype)view->dtype);
        i /= view->size[d];
    }
    return at;
}

static int64_t count(const kiln_view *view)
{
    int64_t n;

    assert_true(kiln_view_numel(view, &n));
    return n;
}

static bool same_places(const kiln_view *a, const kiln_view *b)
{
    int64_t n = count(a);

    if (count(b) != n)
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (place(a, i) != place(b, i))
            return false;
    }
    return true;
}

static kiln_view random_view(int max_ndim, int64_t max_size)
{
    int64_t sizes[KILN_MAX_RANK], strides[KILN_MAX_RANK];
    int ndim = (int)random_int(0, max_ndim);
    kiln_view view;

    for (int d = 0; d < ndim; d++) {
        sizes[d] = random_int(random_int(0, 9) == 0 ? 0 : 1, max_size);
        strides[d] = random_int(-6, 12);
    }
    view = make((kiln_dtype)random_int(KILN_BOOL, KILN_F64), ndim, sizes,
                random_int(0, 2) == 0 ? strides : NULL);
    view.offset = random_int(0, 40);
    return view;
}

/* --- numel, extent, pack ---------------------------------------------------
 */

static void test_numel(void **state)
{
    const int64_t big[] = {INT64_C(1) << 32, INT64_C(1) << 31, 2};
    const int64_t zero[] = {INT64_C(1) << 40, INT64_C(1) << 40, 0};
    const int64_t strides[] = {1, 1, 1};
    kiln_view view = make(KILN_F32, 3, big, strides);
    int64_t n = 7;

    (void)state;
    assert_false(kiln_view_numel(&view, &n));
    assert_int_equal(n, 7);
    view.ndim = 2;
    assert_false(kiln_view_numel(&view, &n)); /* 2^63 */
    view.size[1]--;
    assert_true(kiln_view_numel(&view, &n));
    assert_int_equal(n, INT64_C(9223372032559808512));
    view = make(KILN_F32, 3, zero, strides);
    assert_true(kiln_view_numel(&view, &n));
    assert_int_equal(n, 0);
    view.ndim = 0;
    assert_true(kiln_view_numel(&view, &n));
    assert_int_equal(n, 1);
}

static void test_extent(void **state)
{
    const int64_t sizes[] = {3, 4}, strides[] = {-10, 2};
    kiln_view view = make(KILN_F16, 2, sizes, strides);
    int64_t low, high;

    (void)state;
    view.offset = 100;
    assert_true(kiln_view_extent(&view, &low, &high));
    assert_int_equal(low, 60);
    assert_int_equal(high, 114);
    view.stride[0] = INT64_MIN;
    assert_false(kiln_view_extent(&view, &low, &high));
    view.stride[0] = INT64_MAX / 4; /* twice this, times two bytes */
    assert_false(kiln_view_extent(&view, &low, &high));
    view.size[0] = 1; /* a dim of size 1 may have any stride */
    assert_true(kiln_view_extent(&view, &low, &high));
    assert_int_equal(low, 100);
    assert_int_equal(high, 114);
    view.size[0] = 0;
    assert_true(kiln_view_extent(&view, &low, &high));
    assert_int_equal(low, 0);
    assert_int_equal(high, 0);
}

static void test_extent_random(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        kiln_view view = random_view(4, 4);
        int64_t low, high, n = count(&view), first = 0, last = 0;

        for (int64_t i = 0; i < n; i++) {
            int64_t at = place(&view, i);
            int64_t end = at + kiln_dtype_size((kiln_dtype)view.dtype);

            first = i == 0 || at < first ? at : first;
            last = i == 0 || end > last ? end : last;
        }
        assert_true(kiln_view_extent(&view, &low, &high));
        assert_int_equal(low, first);
        assert_int_equal(high, last);
    }
}

static void test_pack(void **state)
{
    const int64_t sizes[] = {5, 1, 0, 3};
    kiln_view view = make(KILN_F32, 4, sizes, NULL);

    (void)state;
    assert_int_equal(view.stride[3], 1);
    assert_int_equal(view.stride[2], 3);
    assert_int_equal(view.stride[0], 3); /* as PyTorch: 0 counts as 1 */
    view.size[2] = INT64_C(1) << 62;
    assert_false(kiln_view_pack(&view));
    view.size[2] = -1;
    assert_false(kiln_view_pack(&view));
}

/* --- views -----------------------------------------------------------------
 */

/* The only strides that could put element i of `sizes` where element i of in
 * lies, found from single steps along each dim. */
static bool can_express(const kiln_view *in, const int64_t *sizes, int n)
{
    int64_t bytes = kiln_dtype_size((kiln_dtype)in->dtype), step = count(in);
    kiln_view view = make((kiln_dtype)in->dtype, n, sizes, sizes);

    view.offset = in->offset;
    if (step == 0)
        return true;
    for (int d = 0; d < n; d++) {
        step /= sizes[d];
        view.stride[d] =
            sizes[d] == 1 ? 1 : (place(in, step) - place(in, 0)) / bytes;
    }
    return same_places(&view, in);
}

/* Sizes with n's product: factors dealt to dims at random. */
static int random_sizes(int64_t *sizes, int64_t n)
{
    int ndim = (int)random_int(n == 1 ? 0 : 1, 5);

    for (int d = 0; d < ndim; d++)
        sizes[d] = n == 0 ? random_int(0, 3) : 1;
    if (n == 0)
        sizes[0] = 0;
    for (int64_t p = 2; n > 1; p++) {
        for (; n % p == 0; n /= p)
            sizes[random_int(0, ndim - 1)] *= p;
    }
    return ndim;
}

static void test_reshape_random(void **state)
{
    int made = 0, refused = 0;

    (void)state;
    for (int round = 0; round < 40000; round++) {
        kiln_view in = random_view(5, 4), out = in;
        int64_t sizes[8], given[8];
        int n = random_sizes(sizes, count(&in));
        bool ok;

        memcpy(given, sizes, sizeof given);
        if (n > 0 && random_int(0, 3) == 0 && count(&in) > 0)
            given[random_int(0, n - 1)] = -1;
        ok = kiln_view_reshape(&out, &in, given, n, why, sizeof why);
        assert_int_equal(ok, can_express(&in, sizes, n));
        made += ok;
        refused += !ok;
        if (!ok)
            continue;
        assert_int_equal(out.ndim, n);
        assert_memory_equal(out.size, sizes, (size_t)n * sizeof *sizes);
        assert_true(same_places(&out, &in));
    }
    assert_true(made > 10000 && refused > 1000);
}

static void test_reshape_refused(void **state)
{
    const int64_t sizes[] = {4, 6}, odd[] = {5, 5}, two[] = {-1, -1};
    const int64_t negative[] = {-2, -12}, nine[] = {1, 1, 1, 1, 1, 1, 1, 4, 6};
    const int64_t huge[] = {INT64_MAX, INT64_MAX}, unfit[] = {-1, 5};
    kiln_view in = make(KILN_F32, 2, sizes, NULL), out = in;

    (void)state;
    assert_false(kiln_view_reshape(&out, &in, odd, 2, why, sizeof why));
    assert_string_equal(why, "view: sizes for 25 elements, the tensor has 24");
    assert_false(kiln_view_reshape(&out, &in, two, 2, why, sizeof why));
    assert_false(kiln_view_reshape(&out, &in, negative, 2, why, sizeof why));
    assert_false(kiln_view_reshape(&out, &in, nine, 9, why, sizeof why));
    assert_false(kiln_view_reshape(&out, &in, huge, 2, why, sizeof why));
    assert_false(kiln_view_reshape(&out, &in, unfit, 2, why, sizeof why));
    in.size[0] = 0;
    assert_false(kiln_view_reshape(&out, &in, two, 1, NULL, 0) &&
                 out.size[0] != 0);
    in.size[0] = 6;
    in.size[1] = 1;
    in.stride[0] = INT64_MAX; /* no room for the outer of two dims */
    in.ndim = 1;
    assert_false(kiln_view_reshape(&out, &in, (const int64_t[]){2, 3}, 2, why,
                                   sizeof why));
}

static void test_merge(void **state)
{
    const int64_t sizes[] = {2, 3, 4, 5}, rows[] = {3, 4}, gap[] = {9, 1};
    kiln_view in = make(KILN_F32, 4, sizes, NULL), out = in;

    (void)state;
    assert_true(kiln_view_merge(&out, &in, 1, -2, why, sizeof why));
    assert_int_equal(out.ndim, 3);
    assert_int_equal(out.size[1], 12);
    assert_int_equal(out.stride[1], 5);
    assert_true(same_places(&out, &in));
    assert_true(kiln_view_merge(&out, &in, 2, 2, why, sizeof why));
    assert_true(same_places(&out, &in) && out.ndim == 4);
    assert_false(kiln_view_merge(&out, &in, 2, 1, why, sizeof why));
    assert_false(kiln_view_merge(&out, &in, 0, 4, why, sizeof why));
    assert_false(kiln_view_merge(&out, &in, -5, 0, why, sizeof why));
    in = make(KILN_F32, 2, rows, gap);
    assert_false(kiln_view_merge(&out, &in, 0, 1, why, sizeof why));
    assert_string_equal(why, "merge: no one stride walks through dims 0 to 1; "
                             "pass a contiguous tensor");
    assert_true(kiln_view_merge(&in, &in, 0, 0, why, sizeof why));
}

static void test_transpose_slice(void **state)
{
    const int64_t sizes[] = {2, 3, 4};
    kiln_view in = make(KILN_F64, 3, sizes, NULL), out = in, cut;

    (void)state;
    assert_true(kiln_view_transpose(&out, &in, -1, 0, why, sizeof why));
    for (int64_t a = 0; a < 4; a++) {
        for (int64_t b = 0; b < 6; b++)
            assert_int_equal(place(&out, a * 6 + b),
                             place(&in, b % 2 * 12 + b / 2 * 4 + a));
    }
    assert_true(kiln_view_slice(&cut, &out, 0, 1, 3, why, sizeof why));
    assert_int_equal(cut.offset, 8);
    assert_int_equal(cut.size[0], 2);
    for (int64_t i = 0; i < 12; i++)
        assert_int_equal(place(&cut, i), place(&out, i + 6));
    assert_true(kiln_view_slice(&cut, &in, 1, 3, 3, why, sizeof why));
    assert_int_equal(count(&cut), 0);
    assert_false(kiln_view_slice(&cut, &in, 1, 0, 4, why, sizeof why));
    assert_string_equal(why, "slice: 0 to 4 of dim 1, whose size is 3");
    assert_false(kiln_view_slice(&cut, &in, 1, -1, 2, why, sizeof why));
    assert_false(kiln_view_slice(&cut, &in, 1, 2, 1, why, sizeof why));
    assert_false(kiln_view_slice(&cut, &in, 3, 0, 1, why, sizeof why));
    assert_false(kiln_view_transpose(&cut, &in, 0, INT64_MIN, why, 3));
    assert_string_equal(why, "tr");
    in.stride[1] = INT64_MAX / 2;
    assert_false(kiln_view_slice(&cut, &in, 1, 2, 3, why, sizeof why));
}

static void test_expand_group(void **state)
{
    const int64_t sizes[] = {3, 1}, wide[] = {2, 3, 4}, keep[] = {-1, 5};
    const int64_t heads[] = {2, 6, 5}, one[] = {2, 1, 5};
    kiln_view in = make(KILN_F32, 2, sizes, NULL), out = in;

    (void)state;
    assert_true(kiln_view_expand(&out, &in, wide, 3, why, sizeof why));
    for (int64_t i = 0; i < 24; i++)
        assert_int_equal(place(&out, i), i / 4 % 3 * 4);
    assert_true(kiln_view_expand(&out, &in, keep, 2, why, sizeof why));
    assert_int_equal(out.size[0], 3);
    assert_int_equal(out.size[1], 5);
    assert_false(kiln_view_expand(&out, &in, wide, 2, why, sizeof why));
    assert_false(kiln_view_expand(&out, &in, wide, 1, why, sizeof why));
    assert_false(kiln_view_expand(&out, &in, keep, 1, why, sizeof why));
    assert_false(kiln_view_expand(&out, &in, wide, 9, why, sizeof why));
    in = make(KILN_F32, 3, heads, NULL);
    assert_true(kiln_view_group(&out, &in, 2, why, sizeof why));
    assert_int_equal(out.ndim, 4);
    assert_int_equal(out.size[1], 3);
    assert_int_equal(out.size[2], 2);
    assert_true(same_places(&out, &in));
    assert_false(kiln_view_group(&out, &in, 4, why, sizeof why));
    assert_false(kiln_view_group(&out, &in, 0, why, sizeof why));
    in = make(KILN_F32, 3, one, NULL);
    assert_true(kiln_view_group(&out, &in, 4, why, sizeof why));
    assert_int_equal(out.size[1], 1);
    assert_int_equal(out.size[2], 1);
}

/* --- overlap ---------------------------------------------------------------
 */

/* Marks each byte of the view; true when a byte in `other` is met, or, with
 * other NULL, one that was marked before. */
static bool mark(const kiln_view *view, int64_t base, uint8_t *bytes,
                 const uint8_t *other)
{
    int64_t n = count(view);
    bool met = false;

    memset(bytes, 0, BUFFER);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = BUFFER / 2 + base + place(view, i);

        for (int b = 0; b < kiln_dtype_size((kiln_dtype)view->dtype); b++) {
            assert_in_range(at + b, 0, BUFFER - 1);
            met = met || (other == NULL ? bytes : other)[at + b] != 0;
            bytes[at + b] = 1;
        }
    }
    return met;
}

static void test_overlap_random(void **state)
{
    static uint8_t a_bytes[BUFFER], b_bytes[BUFFER];
    int met = 0, doubtful = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        kiln_view a = random_view(3, 4), b = random_view(3, 4);
        int64_t shift = random_int(-60, 60);
        bool self = mark(&b, shift, b_bytes, NULL);
        bool truth = mark(&a, 0, a_bytes, b_bytes);
        bool said = kiln_view_overlaps(&a, 5000, &b, (uintptr_t)(5000 + shift));

        met += truth;
        doubtful += said && !truth;
        assert_true(said || !truth);
        assert_true(kiln_view_overlaps_itself(&b) || !self);
    }
    assert_true(met > 2000);
    assert_int_equal(doubtful, 0);
}

/* Boxes of one array, as composite steps cut them, its dims in any order. */
static kiln_view random_box(const kiln_view *array)
{
    kiln_view box = *array;

    for (int d = 0; d < box.ndim; d++) {
        int64_t start = random_int(0, box.size[d] - 1);
        int64_t stop = random_int(start + 1, box.size[d]);

        assert_true(
            kiln_view_slice(&box, &box, d, start, stop, why, sizeof why));
    }
    assert_true(kiln_view_transpose(&box, &box, random_int(0, box.ndim - 1),
                                    random_int(0, box.ndim - 1), why,
                                    sizeof why));
    return box;
}

static void test_overlap_boxes(void **state)
{
    static uint8_t a_bytes[BUFFER], b_bytes[BUFFER];
    const int64_t sizes[] = {3, 4, 2, 5};

    (void)state;
    for (int round = 0; round < 10000; round++) {
        kiln_view array =
            make((kiln_dtype)random_int(KILN_I16, KILN_F64), 4, sizes, NULL);
        kiln_view a, b;

        array.stride[0] += random_int(0, 3); /* a gap between rows */
        if (random_int(0, 1) == 0) {         /* a reversed dim */
            array.offset += 4 * 30 * 8;
            array.stride[1] = -array.stride[1];
        }
        a = random_box(&array);
        b = random_box(&array);
        mark(&b, 0, b_bytes, NULL);
        assert_int_equal(kiln_view_overlaps(&a, 4096, &b, 4096),
                         mark(&a, 0, a_bytes, b_bytes));
        assert_false(kiln_view_overlaps_itself(&a));
    }
}

static void test_overlap_extremes(void **state)
{
    const int64_t sizes[] = {4, 4}, far[] = {INT64_MAX / 8, 1};
    const int64_t none[] = {0, 4};
    kiln_view a = make(KILN_F32, 2, sizes, NULL), b = a;

    (void)state;
    assert_true(kiln_view_overlaps(&a, 0, &b, 60));
    assert_false(kiln_view_overlaps(&a, 0, &b, 64));
    assert_false(kiln_view_overlaps(&a, 0, &b, INT64_MAX - 64));
    assert_false(
        kiln_view_overlaps(&a, UINTPTR_MAX - 63, &b, UINTPTR_MAX - 127));
    assert_true(kiln_view_overlaps(&a, 0, &b, UINTPTR_MAX)); /* in doubt */
    b = make(KILN_F32, 2, sizes, far);
    assert_true(kiln_view_overlaps(&a, 0, &b, 0));
    assert_true(kiln_view_overlaps_itself(&b)); /* extent outside int64 */
    b = make(KILN_F32, 2, none, NULL);
    assert_false(kiln_view_overlaps(&a, 0, &b, 0));
    assert_false(kiln_view_overlaps_itself(&b));
    b = a;
    b.dtype = KILN_NONE;
    assert_false(kiln_view_overlaps(&a, 0, &b, 0));
    b = a;
    b.stride[0] = 0;
    assert_true(kiln_view_overlaps_itself(&b));
    b.size[0] = 1;
    assert_false(kiln_view_overlaps_itself(&b));
}

/* Two column blocks of a matrix too large to list, and even and odd items. */
static void test_overlap_large(void **state)
{
    const int64_t rows[] = {INT64_C(1) << 20, 4096}, pitch[] = {8192, 1};
    const int64_t items[] = {INT64_C(1) << 30}, step[] = {2};
    kiln_view a = make(KILN_F32, 2, rows, pitch), b = a;

    (void)state;
    assert_false(kiln_view_overlaps(&a, 4096, &b, 4096 + 4 * 4096));
    assert_true(kiln_view_overlaps(&a, 4096, &b, 4096 + 4 * 4095));
    assert_false(kiln_view_overlaps(&a, 1 << 20, &b, (1 << 20) - 4 * 4096));
    a = make(KILN_F16, 1, items, step);
    assert_false(kiln_view_overlaps(&a, 64, &a, 66));
    assert_true(kiln_view_overlaps(&a, 64, &a, 65));
    assert_true(kiln_view_overlaps(&a, 64, &a, 68));
    b = make(KILN_F16, 1, items, (const int64_t[]){6});
    assert_false(kiln_view_overlaps(&a, 64, &b, 66));
    assert_true(kiln_view_overlaps(&a, 64, &b, 68));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numel),
        cmocka_unit_test(test_extent),
        cmocka_unit_test(test_extent_random),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_reshape_random),
        cmocka_unit_test(test_reshape_refused),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_transpose_slice),
        cmocka_unit_test(test_expand_group),
        cmocka_unit_test(test_overlap_random),
        cmocka_unit_test(test_overlap_boxes),
        cmocka_unit_test(test_overlap_extremes),
        cmocka_unit_test(test_overlap_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
