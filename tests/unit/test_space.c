/* sources: runtime/core/space.c runtime/core/view.c runtime/core/arith.c
 * runtime/core/dtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/space.h"

#define LIST(...) ((const int64_t[]){__VA_ARGS__})
#define NO_ROW (-1)

/* An op and its tensors, filled one after the other. */
typedef struct scene {
    kiln_op op;
    kiln_op_tensor spec[KILN_MAX_TENSORS];
    kiln_view view[KILN_MAX_TENSORS];
    uintptr_t base[KILN_MAX_TENSORS];
    kiln_space space;
} scene;

static const char *const names = "a\0b\0c\0d\0e\0f\0g\0h";

static void begin(scene *s, kiln_space_kind kind)
{
    memset(s, 0, sizeof *s);
    s->op.name = "op";
    s->op.space = (uint8_t)kind;
    s->op.tensors = s->spec;
}

static kiln_view *add(scene *s, kiln_role role, kiln_dtype dtype, int rank,
                      const int64_t *size, const int64_t *stride)
{
    int t = s->op.n_tensors++;
    kiln_view *view = &s->view[t];

    s->spec[t].name = names + 2 * t;
    s->spec[t].role = (uint8_t)role;
    view->dtype = (uint8_t)dtype;
    view->ndim = (uint8_t)rank;
    for (int d = 0; d < rank; d++) {
        view->size[d] = size[d];
        view->stride[d] = stride[d];
    }
    return view;
}

static void make(scene *s, int row_dim)
{
    char why[200] = "";

    if (!kiln_space_fits(&s->op, s->view, row_dim, why, sizeof why)) {
        fail_msg("%s", why);
    }
    memset(&s->space, 0xa5, sizeof s->space);
    kiln_space_make(&s->space, &s->op, s->view, s->base, row_dim);
}

/* Outer sizes as given, then the row's, and that layout. */
static void expect(const scene *s, kiln_layout layout, int rank,
                   const int64_t *size, int64_t row)
{
    int64_t rows = 1;

    assert_int_equal(s->space.rank, rank);
    for (int d = 0; d < rank; d++) {
        assert_int_equal(s->space.size[d], size[d]);
        rows *= size[d];
    }
    assert_int_equal(s->space.rows, rows);
    assert_int_equal(s->space.row_size, row);
    assert_string_equal(kiln_layout_name(s->space.layout),
                        kiln_layout_name((int)layout));
}

static void expect_strides(const scene *s, int t, const int64_t *stride,
                           int64_t row)
{
    for (int d = 0; d < s->space.rank; d++) {
        assert_int_equal(s->space.stride[t][d], stride[d]);
    }
    assert_int_equal(s->space.row_stride[t], row);
}

/* --- broadcast spaces ----------------------------------------------------- */

static void test_merging(void **state)
{
    scene s;

    (void)state;
    /* Two packed tensors are one row. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    add(&s, KILN_OUT, KILN_F16, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 24);
    expect_strides(&s, 0, NULL, 1);
    expect_strides(&s, 1, NULL, 1);
    /* Equally permuted ones too, whatever the order of their dims. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 3, LIST(3, 4, 2), LIST(4, 1, 12));
    add(&s, KILN_OUT, KILN_F32, 3, LIST(3, 4, 2), LIST(4, 1, 12));
    make(&s, NO_ROW);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 24);
    /* One transposed input: the output's order decides. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 4), LIST(1, 3));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_GENERAL, 1, LIST(3), 4);
    expect_strides(&s, 0, LIST(1), 3);
    expect_strides(&s, 1, LIST(4), 1);
    /* The same with the output written and read, standing second. */
    s.spec[1].role = KILN_INOUT;
    make(&s, NO_ROW);
    expect_strides(&s, 0, LIST(1), 3);
    expect_strides(&s, 1, LIST(4), 1);
    /* Rows with a gap: inner; the outer two dims merge. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 3, LIST(2, 3, 4), LIST(30, 10, 1));
    add(&s, KILN_OUT, KILN_F32, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_INNER, 1, LIST(6), 4);
    expect_strides(&s, 0, LIST(10), 1);
    /* A stride along the row. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 1, LIST(5), LIST(2));
    add(&s, KILN_OUT, KILN_F32, 1, LIST(5), LIST(1));
    make(&s, NO_ROW);
    expect(&s, KILN_GENERAL, 0, NULL, 5);
    expect_strides(&s, 0, NULL, 2);
}

static void test_broadcasting(void **state)
{
    scene s;

    (void)state;
    /* Along the outer dim: inner, and the input's stride there is 0. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 1, LIST(4), LIST(1));
    add(&s, KILN_OUT, KILN_F32, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_INNER, 1, LIST(6), 4);
    expect_strides(&s, 0, LIST(0), 1);
    /* Along the row: general. A size of 1 has whatever stride. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 1), LIST(1, INT64_MAX));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_GENERAL, 1, LIST(3), 4);
    expect_strides(&s, 0, LIST(1), 0);
    /* A scalar, as [1]; and one that was expanded by strides. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 1, LIST(1), LIST(1));
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 4), LIST(0, 0));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_GENERAL, 0, NULL, 12);
    expect_strides(&s, 0, NULL, 0);
    expect_strides(&s, 1, NULL, 0);
    /* Sizes of 1 vanish, in all places and whatever their strides. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 4, LIST(1, 3, 1, 4), LIST(7, 4, 9, 1));
    add(&s, KILN_OUT, KILN_F32, 4, LIST(1, 3, 1, 4), LIST(0, 4, 0, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 12);
    /* One element. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 2, LIST(1, 1), LIST(5, 5));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(1, 1), LIST(3, 3));
    make(&s, NO_ROW);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 1);
    /* An absent input does not stand in the way. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    add(&s, KILN_IN, KILN_NONE, 0, NULL, NULL);
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    make(&s, NO_ROW);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 12);
}

static void test_all_ranks(void **state)
{
    (void)state;
    for (int rank = 0; rank <= KILN_MAX_RANK; rank++) {
        int64_t size[KILN_MAX_RANK], packed[KILN_MAX_RANK];
        int64_t gaps[KILN_MAX_RANK], outer[KILN_MAX_RANK];
        int64_t step = 1, wide = 1;
        scene s;

        for (int d = rank - 1; d >= 0; d--) {
            size[d] = 2;
            packed[d] = step;
            gaps[d] = wide;
            step *= 2;
            wide *= 3;
        }
        begin(&s, KILN_SPACE_BROADCAST);
        add(&s, KILN_IN, KILN_F32, rank, size, packed);
        add(&s, KILN_OUT, KILN_F32, rank, size, packed);
        make(&s, NO_ROW);
        expect(&s, KILN_CONTIGUOUS, 0, NULL, step);
        /* With a gap behind every dim nothing merges. */
        begin(&s, KILN_SPACE_BROADCAST);
        add(&s, KILN_IN, KILN_F32, rank, size, gaps);
        add(&s, KILN_OUT, KILN_F32, rank, size, packed);
        make(&s, NO_ROW);
        for (int d = 0; d < rank; d++) {
            outer[d] = 2;
        }
        expect(&s, rank > 1 ? KILN_INNER : KILN_CONTIGUOUS,
               rank > 1 ? rank - 1 : 0, outer, rank > 0 ? 2 : 1);
        for (int d = 0; d + 1 < rank; d++) {
            assert_int_equal(s.space.stride[0][d], gaps[d]);
            assert_int_equal(s.space.stride[1][d], packed[d]);
        }
    }
}

static void expect_shape(scene *s, int rank, const int64_t *size)
{
    int64_t got[KILN_MAX_RANK];
    char why[200] = "";
    int ndim = -1;

    assert_true(
        kiln_space_broadcast(&s->op, s->view, got, &ndim, why, sizeof why));
    assert_int_equal(ndim, rank);
    for (int d = 0; d < rank; d++) {
        assert_int_equal(got[d], size[d]);
    }
}

static void expect_no_shape(scene *s, const char *text)
{
    int64_t got[KILN_MAX_RANK];
    char why[200] = "";
    int ndim;

    assert_false(
        kiln_space_broadcast(&s->op, s->view, got, &ndim, why, sizeof why));
    assert_string_equal(why, text);
}

/* PyTorch's rule; the output has no say. */
static void test_broadcast_shape(void **state)
{
    const int64_t *any = LIST(9, 9, 9, 9, 9, 9, 9, 9);
    scene s;

    (void)state;
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_OUT, KILN_F32, 1, LIST(99), any);
    add(&s, KILN_IN, KILN_F32, 3, LIST(5, 1, 4), any);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 1), any);
    add(&s, KILN_IN, KILN_NONE, 0, NULL, NULL);
    expect_shape(&s, 3, LIST(5, 3, 4));
    s.view[2].size[1] = 4;
    expect_shape(&s, 3, LIST(5, 3, 4));
    s.view[2].size[1] = 2;
    expect_no_shape(&s, "tensor c: size 2 at dim -1 does not broadcast with 4");
    s.view[2].size[1] = 0;
    expect_no_shape(&s, "tensor c: size 0 at dim -1 does not broadcast with 4");
    s.view[1].size[2] = 1;
    expect_shape(&s, 3, LIST(5, 3, 0)); /* torch.ones(0) + torch.ones(1) */
    s.view[1].size[2] = 7;
    s.view[2].size[1] = 7;
    s.view[2].size[0] = 0;
    expect_shape(&s, 3, LIST(5, 0, 7));
    s.spec[2].role = KILN_INOUT;
    expect_shape(&s, 3, LIST(5, 0, 7));
}

static void expect_misfit(scene *s, int row_dim, const char *text)
{
    char why[200] = "";

    assert_false(kiln_space_fits(&s->op, s->view, row_dim, why, sizeof why));
    assert_string_equal(why, text);
}

static void test_misfits(void **state)
{
    char why[200];
    scene s;

    (void)state;
    /* What a spec's own rules let through must not be read out of bounds. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 2), LIST(2, 1));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    expect_misfit(&s, NO_ROW,
                  "tensor a: size 2 at dim -1 does not fit 4 of tensor b");
    s.view[0].size[1] = 0;
    expect_misfit(&s, NO_ROW,
                  "tensor a: size 0 at dim -1 does not fit 4 of tensor b");
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    expect_misfit(&s, NO_ROW,
                  "tensor a: size 2 at dim -3 does not fit 1 of tensor b");
    s.view[0].size[0] = 1;
    make(&s, NO_ROW);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 12);
    /* Nothing that is written is broadcast. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_OUT, KILN_F32, 1, LIST(4), LIST(1));
    add(&s, KILN_OUT, KILN_F32, 1, LIST(1), LIST(1));
    expect_misfit(&s, NO_ROW,
                  "tensor b: size 1 at dim -1 does not fit 4 of tensor a");
    s.spec[1].role = KILN_IN;
    make(&s, NO_ROW);
    /* ... but a row may be reduced. */
    begin(&s, KILN_SPACE_ROWS);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 1), LIST(1, 1));
    make(&s, 1);
    expect(&s, KILN_GENERAL, 1, LIST(3), 4);
    expect_strides(&s, 1, LIST(1), 0);
    expect_misfit(&s, 0,
                  "tensor b: size 1 at dim -1 does not fit 4 of tensor a");
    s.op.space = KILN_SPACE_NONE;
    s.view[1].size[0] = 17;
    assert_true(kiln_space_fits(&s.op, s.view, -1, why, sizeof why));
}

/* --- rows ----------------------------------------------------------------- */

static void make_rows(scene *s, int rank, const int64_t *size, const int64_t *x,
                      const int64_t *y, int row_dim)
{
    begin(s, KILN_SPACE_ROWS);
    add(s, KILN_IN, KILN_F32, rank, size, x);
    add(s, KILN_OUT, KILN_F32, rank, size, y);
    make(s, row_dim);
}

static void test_rows(void **state)
{
    scene s;

    (void)state;
    make_rows(&s, 3, LIST(2, 3, 4), LIST(12, 4, 1), LIST(12, 4, 1), 2);
    expect(&s, KILN_CONTIGUOUS, 1, LIST(6), 4);
    expect_strides(&s, 0, LIST(4), 1);
    /* The middle dim apart: the others do not merge. */
    make_rows(&s, 3, LIST(2, 3, 4), LIST(12, 4, 1), LIST(12, 4, 1), 1);
    expect(&s, KILN_GENERAL, 2, LIST(2, 4), 3);
    expect_strides(&s, 0, LIST(12, 1), 4);
    /* The first apart: the others do. */
    make_rows(&s, 3, LIST(2, 3, 4), LIST(12, 4, 1), LIST(12, 4, 1), 0);
    expect(&s, KILN_GENERAL, 1, LIST(12), 2);
    expect_strides(&s, 0, LIST(1), 12);
    /* A permuted call whose row is dense is as good as the plain one. */
    make_rows(&s, 3, LIST(4, 2, 3), LIST(1, 12, 4), LIST(1, 12, 4), 0);
    expect(&s, KILN_CONTIGUOUS, 1, LIST(6), 4);
    /* A pitch. */
    make_rows(&s, 2, LIST(3, 4), LIST(8, 1), LIST(4, 1), 1);
    expect(&s, KILN_INNER, 1, LIST(3), 4);
    expect_strides(&s, 0, LIST(8), 1);
    expect_strides(&s, 1, LIST(4), 1);
    /* One row, whatever the stride between rows. */
    make_rows(&s, 2, LIST(1, 4), LIST(99, 1), LIST(4, 1), 1);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 4);
    /* Rows of one element: a unit row, dense where the rows are. */
    make_rows(&s, 2, LIST(5, 1), LIST(1, 77), LIST(1, 1), 1);
    expect(&s, KILN_CONTIGUOUS, 1, LIST(5), 1);
    expect_strides(&s, 0, LIST(1), 1);
    make_rows(&s, 2, LIST(5, 1), LIST(2, 1), LIST(1, 1), 1);
    expect(&s, KILN_INNER, 1, LIST(5), 1);
    make_rows(&s, 1, LIST(1), LIST(1), LIST(1), 0);
    expect(&s, KILN_CONTIGUOUS, 0, NULL, 1);
    /* A mask of fewer dims is broadcast along the outer ones. */
    begin(&s, KILN_SPACE_ROWS);
    add(&s, KILN_IN, KILN_F32, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    add(&s, KILN_OUT, KILN_F32, 3, LIST(2, 3, 4), LIST(12, 4, 1));
    make(&s, 2);
    expect(&s, KILN_INNER, 2, LIST(2, 3), 4);
    expect_strides(&s, 1, LIST(0, 4), 1);
}

/* --- classes -------------------------------------------------------------- */

static int align_of(scene *s, int row_dim)
{
    make(s, row_dim);
    return s->space.align_log2;
}

static void test_alignment(void **state)
{
    scene s;

    (void)state;
    begin(&s, KILN_SPACE_ROWS);
    add(&s, KILN_IN, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    add(&s, KILN_OUT, KILN_F32, 2, LIST(3, 4), LIST(4, 1));
    assert_int_equal(align_of(&s, 1), 4); /* bases 0: aligned, rows 16 bytes */
    s.base[0] = 0x1000;
    assert_int_equal(align_of(&s, 1), 4);
    s.base[0] = 0x1008;
    assert_int_equal(align_of(&s, 1), 0);
    s.view[0].offset = 8; /* base + offset counts, not each alone */
    assert_int_equal(align_of(&s, 1), 4);
    s.view[0].offset = 4;
    assert_int_equal(align_of(&s, 1), 0);
    s.base[0] = 1;
    s.view[0].offset = 0;
    assert_int_equal(align_of(&s, 1), 0);
    s.base[0] = 0;
    s.view[1].stride[0] = 6; /* 24 bytes from row to row */
    assert_int_equal(align_of(&s, 1), 0);
    s.view[1].stride[0] = 5;
    assert_int_equal(align_of(&s, 1), 0);
    s.view[1].dtype = KILN_F16; /* 10 bytes */
    assert_int_equal(align_of(&s, 1), 0);
    s.view[1].size[0] = s.view[0].size[0] = 1; /* no second row */
    assert_int_equal(align_of(&s, 1), 4);
    s.view[1].dtype = KILN_NONE; /* an absent tensor has no say */
    s.base[1] = 1;
    assert_int_equal(align_of(&s, 1), 4);
    /* Of rows with gaps none counts as aligned. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_U8, 1, LIST(7), LIST(3));
    add(&s, KILN_OUT, KILN_U8, 1, LIST(7), LIST(1));
    assert_int_equal(align_of(&s, NO_ROW), 0);
    /* Without a space the view's own strides count, but those of rows. */
    begin(&s, KILN_SPACE_NONE);
    add(&s, KILN_IN, KILN_F16, 2, LIST(3, 4), LIST(4, 1));
    add(&s, KILN_OUT, KILN_F16, 1, LIST(64), LIST(1));
    assert_int_equal(align_of(&s, NO_ROW), 0);
    assert_int_equal(s.space.rank, 0);
    assert_int_equal(s.space.rows, 1);
    assert_int_equal(s.space.row_size, 1);
}

static bool is_wide(scene *s, int row_dim)
{
    make(s, row_dim);
    return s->space.wide;
}

/* The last element's offset, 2^31 - 1 or 2^31, decides. */
static void test_width(void **state)
{
    const int64_t edge = INT64_C(1) << 31;
    scene s;

    (void)state;
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F32, 1, &edge, LIST(1));
    add(&s, KILN_OUT, KILN_F32, 1, &edge, LIST(1));
    assert_false(is_wide(&s, NO_ROW));
    s.view[0].size[0] = s.view[1].size[0] = edge + 1;
    assert_true(is_wide(&s, NO_ROW));
    /* By strides, of one tensor alone, over outer dim and row together. */
    begin(&s, KILN_SPACE_ROWS);
    add(&s, KILN_IN, KILN_F64, 2, LIST(2, 8), LIST(edge - 8, 1));
    add(&s, KILN_OUT, KILN_F64, 2, LIST(2, 8), LIST(8, 1));
    assert_false(is_wide(&s, 1));
    s.view[0].stride[0]++;
    assert_true(is_wide(&s, 1));
    s.view[0].dtype = KILN_NONE;
    s.view[0].stride[0] = 8;
    assert_false(is_wide(&s, 1));
    begin(&s, KILN_SPACE_NONE);
    add(&s, KILN_IN, KILN_F64, 2, LIST(2, 8), LIST(edge - 8, 1));
    assert_false(is_wide(&s, NO_ROW));
    s.view[0].stride[0]++;
    assert_true(is_wide(&s, NO_ROW));
    /* As far as int64 goes: 2^60 f64 elements, and two 2^59 apart. */
    begin(&s, KILN_SPACE_BROADCAST);
    add(&s, KILN_IN, KILN_F64, 2, LIST(2, 2), LIST(INT64_C(1) << 59, 1));
    add(&s, KILN_OUT, KILN_U8, 2, LIST(2, 2), LIST(INT64_MAX - 2, 1));
    assert_true(is_wide(&s, NO_ROW));
    expect(&s, KILN_INNER, 1, LIST(2), 2);
}

/* --- against brute force -------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static int64_t below(int64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)n);
}

/* A tensor for a space of those sizes: permuted, with gaps, and for inputs
 * broadcast by size or stride, of fewer dims or absent. */
static void add_random(scene *s, int rank, const int64_t *size, bool input)
{
    static const int64_t none[KILN_MAX_RANK] = {0};
    kiln_view *view =
        add(s, input ? KILN_IN : KILN_OUT, KILN_F32, rank, size, none);
    int lead = 0;
    int64_t step = 1 + (below(4) == 0);
    bool done[KILN_MAX_RANK] = {false};

    for (int left = rank; left > 0; left--) {
        int d = below(2) ? left - 1 : (int)below(rank);

        while (done[d]) {
            d = (d + 1) % rank;
        }
        done[d] = true;
        view->stride[d] = step;
        step *= size[d];
        step += below(4) == 0 ? below(3) : 0;
        if (size[d] == 1 && below(2)) {
            view->stride[d] = below(1000);
        }
        if (input && below(5) == 0) {
            view->size[d] = below(2) ? 1 : view->size[d];
            view->stride[d] = view->size[d] == 1 ? below(9) : 0;
        }
    }
    if (input && below(4) == 0) {
        lead = (int)below(rank + 1);
        view->ndim = (uint8_t)(rank - lead);
        memmove(view->size, view->size + lead, sizeof(int64_t) * view->ndim);
        memmove(view->stride, view->stride + lead,
                sizeof(int64_t) * view->ndim);
    }
    if (input && below(12) == 0) {
        view->dtype = KILN_NONE;
        view->ndim = 0;
    }
}

#define COLUMNS (KILN_MAX_TENSORS + 1)

typedef struct element {
    int64_t place[COLUMNS]; /* of each tensor, then the number in the row */
} element;

static int compare(const void *a, const void *b)
{
    const element *x = a, *y = b;

    for (int i = 0; i < COLUMNS; i++) {
        if (x->place[i] != y->place[i]) {
            return x->place[i] < y->place[i] ? -1 : 1;
        }
    }
    return 0;
}

/* All elements, by the tensors' own sizes and strides. */
static int enumerate(const scene *s, int rank, const int64_t *size, int row_dim,
                     element *out)
{
    int64_t numel = 1;

    for (int d = 0; d < rank; d++) {
        numel *= size[d];
    }
    for (int64_t n = 0; n < numel; n++) {
        int64_t rest = n;

        memset(&out[n], 0, sizeof out[n]);
        for (int d = rank - 1; d >= 0; d--) {
            int64_t i = rest % size[d];

            rest /= size[d];
            for (int t = 0; t < s->op.n_tensors; t++) {
                const kiln_view *v = &s->view[t];
                int own = d - (rank - v->ndim);

                if (own >= 0 && v->size[own] > 1) {
                    out[n].place[t] += i * v->stride[own];
                }
            }
            if (d == row_dim) {
                out[n].place[KILN_MAX_TENSORS] = i;
            }
        }
    }
    return (int)numel;
}

/* All elements, by the canonical space. */
static int enumerate_space(const scene *s, element *out)
{
    const kiln_space *p = &s->space;
    int n = 0;

    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t k = 0; k < p->row_size; k++, n++) {
            memset(&out[n], 0, sizeof out[n]);
            for (int t = 0; t < s->op.n_tensors; t++) {
                int64_t rest = row;

                out[n].place[t] = k * p->row_stride[t];
                for (int d = p->rank - 1; d >= 0; d--) {
                    out[n].place[t] += rest % p->size[d] * p->stride[t][d];
                    rest /= p->size[d];
                }
            }
            if (s->op.space == KILN_SPACE_ROWS) {
                out[n].place[KILN_MAX_TENSORS] = k;
            }
        }
    }
    return n;
}

static element direct[4096], through[4096];

/* No two neighbouring outer dims would merge. */
static void check_merged(const scene *s)
{
    const kiln_space *p = &s->space;

    for (int d = 0; d + 1 < p->rank; d++) {
        bool apart = false;

        for (int t = 0; t < s->op.n_tensors; t++) {
            apart = apart ||
                    p->stride[t][d] != p->stride[t][d + 1] * p->size[d + 1];
        }
        assert_true(apart);
        assert_true(p->size[d] > 1);
    }
}

static void check_one(void)
{
    int rank = (int)below(5), n_tensors = 2 + (int)below(3), n;
    bool rows = rank > 0 && below(2);
    int row_dim = rows ? (int)below(rank) : NO_ROW;
    int64_t size[KILN_MAX_RANK];
    scene s;

    for (int d = 0; d < rank; d++) {
        size[d] = below(4) == 0 ? 1 : 1 + below(7);
    }
    begin(&s, rows ? KILN_SPACE_ROWS : KILN_SPACE_BROADCAST);
    for (int t = 0; t < n_tensors; t++) {
        /* Tensor 0 has the sizes of a space of rows. */
        add_random(&s, rank, size, rows ? t > 0 && t < n_tensors - 1 : t != 1);
    }
    make(&s, row_dim);
    n = enumerate(&s, rank, size, row_dim, direct);
    assert_int_equal(enumerate_space(&s, through), n);
    qsort(direct, (size_t)n, sizeof *direct, compare);
    qsort(through, (size_t)n, sizeof *through, compare);
    for (int i = 0; i < n; i++) {
        assert_int_equal(compare(&direct[i], &through[i]), 0);
    }
    check_merged(&s);
}

static void test_against_enumeration(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        check_one();
    }
}

/* The dims' order does not matter when all tensors share it. */
static void test_permutations(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        int rank = 1 + (int)below(4);
        int64_t size[KILN_MAX_RANK];
        scene s, turned;
        int shift = (int)below(rank);

        for (int d = 0; d < rank; d++) {
            size[d] = 2 + below(4);
        }
        begin(&s, KILN_SPACE_BROADCAST);
        add_random(&s, rank, size, true);
        add_random(&s, rank, size, false);
        add_random(&s, rank, size, true);
        s.view[0].ndim = s.view[1].ndim;
        s.view[2] = s.view[1];
        s.view[0].dtype = KILN_F32;
        for (int d = 0; d < rank; d++) {
            s.view[0].size[d] = below(4) ? size[d] : 1;
        }
        turned = s;
        for (int t = 0; t < 3; t++) {
            for (int d = 0; d < rank; d++) {
                int from = (d + shift) % rank;

                turned.view[t].size[d] = s.view[t].size[from];
                turned.view[t].stride[d] = s.view[t].stride[from];
            }
        }
        make(&s, NO_ROW);
        make(&turned, NO_ROW);
        assert_memory_equal(&s.space, &turned.space, sizeof s.space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_broadcasting),
        cmocka_unit_test(test_all_ranks),
        cmocka_unit_test(test_broadcast_shape),
        cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_against_enumeration),
        cmocka_unit_test(test_permutations),
    };

    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
