/* sources: tests/unit/core_tables.c runtime/core/key.c
 * runtime/core/key_text.c runtime/core/lookup.c runtime/core/error.c
 * runtime/core/space.c runtime/core/view.c runtime/core/arith.c
 * runtime/core/dtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/key.h"
#include "core/space.h"
#include "core_tables.h"

static kiln_key make_key(int op)
{
    kiln_key key;

    memset(&key, 0, sizeof key);
    key.op = core_tables.ops[op];
    return key;
}

/* --- packing -------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t packed[1 << 20];
static int n_packed;

static void take(const kiln_key *key)
{
    assert_true(n_packed < (int)(sizeof packed / sizeof *packed));
    assert_true(kiln_group_pack(key, &packed[n_packed]));
    n_packed++;
}

/* Every layout, alignment and width under every set of classes. What a set
 * leaves out does not count. */
static void take_classes(kiln_key *key)
{
    for (int layout = 0; layout < 3; layout++) {
        for (int classes = 0; classes < 4; classes++) {
            int aligns = classes & KILN_CLASS_ALIGN ? 2 : 1;
            int widths = classes & KILN_CLASS_WIDE ? 2 : 1;

            for (int i = 0; i < aligns * widths; i++) {
                uint64_t other;

                key->layout = (uint8_t)layout;
                key->classes = (uint8_t)classes;
                key->align_log2 = (uint8_t)(i % aligns * KILN_VECTOR_LOG2);
                key->wide = i / aligns == 1;
                take(key);
                key->align_log2 =
                    aligns == 1 ? KILN_VECTOR_LOG2 : key->align_log2;
                key->wide = widths == 1 || key->wide;
                assert_true(kiln_group_pack(key, &other));
                assert_int_equal(other, packed[n_packed - 1]);
            }
        }
    }
}

static void check_distinct(int wanted)
{
    assert_int_equal(n_packed, wanted);
    qsort(packed, (size_t)n_packed, sizeof *packed, by_value);
    for (int i = 1; i < n_packed; i++) {
        assert_true(packed[i - 1] != packed[i]);
    }
}

/* 3 layouts by (1 + 2 + 2 + 4) classes. */
#define CLASSES (3 * 9)

static void test_packs_apart(void **state)
{
    static const int64_t shifts[] = {-128, -127, -1, 0, 1, 127};
    kiln_key key = make_key(OP_ADD);

    (void)state;
    n_packed = 0;
    for (int combo = 0; combo < 11 * 11; combo++) {
        key.dtypes[0] = (uint8_t)(combo / 11);
        key.dtypes[1] = (uint8_t)(combo % 11);
        key.dtypes[2] = (uint8_t)(combo % 7); /* not keyed */
        for (int baked = 0; baked < 2 * 3 * 6; baked++) {
            key.baked[ADD_FLIP] = baked % 2;
            key.baked[ADD_MODE] = baked / 2 % 3;
            key.baked[ADD_SHIFT] = shifts[baked / 6];
            take_classes(&key);
        }
    }
    check_distinct(11 * 11 * 36 * CLASSES);
    key = make_key(OP_SOFTMAX);
    n_packed = 0;
    for (int combo = 0; combo < 11 * 11 * 2 * 2; combo++) {
        key.dtypes[0] = (uint8_t)(combo % 11);
        key.dtypes[1] = (uint8_t)(combo / 11 % 11);
        key.baked[1] = combo / 121 % 2;
        key.route = combo / 242;
        take_classes(&key);
    }
    check_distinct(11 * 11 * 2 * 2 * CLASSES);
}

static void expect_no_pack(kiln_key *key, int attr, int64_t value)
{
    uint64_t out = 7;
    int64_t kept = key->baked[attr];

    key->baked[attr] = value;
    assert_false(kiln_group_pack(key, &out));
    key->baked[attr] = kept;
    assert_true(kiln_group_pack(key, &out));
}

static void test_does_not_pack(void **state)
{
    kiln_key key = make_key(OP_ADD);

    (void)state;
    expect_no_pack(&key, ADD_SHIFT, 128);
    expect_no_pack(&key, ADD_SHIFT, -129);
    expect_no_pack(&key, ADD_SHIFT, INT64_MAX);
    expect_no_pack(&key, ADD_SHIFT, INT64_MIN);
    expect_no_pack(&key, ADD_FLIP, 2);
    expect_no_pack(&key, ADD_FLIP, -1);
    expect_no_pack(&key, ADD_MODE, 16);
    expect_no_pack(&key, ADD_MODE, -1);
}

/* 20 bits of baked values, 6 keyed tensors and 16 routes are the most. */
static void test_limits(void **state)
{
    static const uint8_t types[] = {KILN_TYPE_INT, KILN_TYPE_INT,
                                    KILN_TYPE_STRING, KILN_TYPE_BOOL};
    kiln_op_attr attrs[4];
    kiln_op_tensor tensors[7];
    kiln_op op = {.name = "op", .attrs = attrs, .tensors = tensors};
    kiln_key key = {.op = &op};
    uint64_t out;

    (void)state;
    for (int i = 0; i < 4; i++) {
        attrs[i] = (kiln_op_attr){.name = "a", .type = types[i], .baked = 1};
    }
    for (int i = 0; i < 7; i++) {
        tensors[i] = (kiln_op_tensor){.name = "t", .keyed = 1};
        key.dtypes[i] = KILN_F64;
    }
    op.n_attrs = 3;
    op.n_tensors = 6;
    key.route = 15;
    key.baked[0] = key.baked[1] = 127;
    key.baked[2] = 15;
    key.layout = KILN_GENERAL;
    key.classes = KILN_CLASS_ALIGN | KILN_CLASS_WIDE;
    key.align_log2 = 4;
    key.wide = true;
    assert_true(kiln_group_pack(&key, &out));
    assert_true(out < UINT64_C(1) << 56);
    op.n_attrs = 4;
    assert_false(kiln_group_pack(&key, &out));
    attrs[3].baked = 0;
    assert_true(kiln_group_pack(&key, &out));
    op.n_tensors = 7;
    assert_false(kiln_group_pack(&key, &out));
    tensors[3].keyed = 0;
    assert_true(kiln_group_pack(&key, &out));
    key.route = 16;
    assert_false(kiln_group_pack(&key, &out));
}

/* --- ladders -------------------------------------------------------------- */

static void test_buckets(void **state)
{
    const kiln_ladder *rows = &core_tables.ladders[1]; /* 4 64 1024 32768 */
    const kiln_ladder none = {"none", NULL, 0, NULL, 0};

    (void)state;
    for (int i = 0; i < rows->n_edges; i++) {
        int64_t edge = rows->edges[i];
        int64_t low, high;

        assert_int_equal(kiln_ladder_bucket(rows, edge - 1), i);
        assert_int_equal(kiln_ladder_bucket(rows, edge), i);
        assert_int_equal(kiln_ladder_bucket(rows, edge + 1),
                         i + 1 < rows->n_edges ? i + 1 : -1);
        kiln_ladder_range(rows, i, &low, &high);
        assert_int_equal(high, edge);
        assert_int_equal(low, i > 0 ? rows->edges[i - 1] : 0);
    }
    assert_int_equal(kiln_ladder_bucket(rows, 1), 0);
    assert_int_equal(kiln_ladder_bucket(rows, 0), -1);
    assert_int_equal(kiln_ladder_bucket(rows, -1), -1);
    assert_int_equal(kiln_ladder_bucket(rows, INT64_MIN), -1);
    assert_int_equal(kiln_ladder_bucket(rows, INT64_MAX), -1);
    assert_int_equal(kiln_ladder_bucket(&none, 1), -1);
}

static void test_census(void **state)
{
    const kiln_ladder *rows = &core_tables.ladders[1]; /* 5 100 4000 */
    const kiln_ladder none = {"none", NULL, 0, NULL, 0};

    (void)state;
    for (int i = 0; i < rows->n_census; i++) {
        int64_t low, high;

        assert_int_equal(kiln_ladder_census(rows, rows->census[i]), i);
        assert_int_equal(kiln_ladder_census(rows, rows->census[i] - 1), -1);
        assert_int_equal(kiln_ladder_census(rows, rows->census[i] + 1), -1);
        kiln_ladder_range(rows, KILN_CENSUS_BIT | i, &low, &high);
        assert_int_equal(high, rows->census[i]);
        assert_int_equal(low, rows->census[i] - 1);
    }
    assert_int_equal(kiln_ladder_census(rows, INT64_MIN), -1);
    assert_int_equal(kiln_ladder_census(rows, INT64_MAX), -1);
    assert_int_equal(kiln_ladder_census(&none, 5), -1);
}

static void test_positions(void **state)
{
    kiln_key key = make_key(OP_SOFTMAX);
    int positions[KILN_MAX_AXES];

    (void)state;
    key.size[0] = 65;
    key.size[1] = 16;
    assert_true(kiln_key_positions(&core_tables, &key, positions));
    assert_int_equal(positions[0], 2);
    assert_int_equal(positions[1], 0);
    key.size[1] = 32769;
    assert_false(kiln_key_positions(&core_tables, &key, positions));
    assert_int_equal(positions[0], 2);
    assert_int_equal(positions[1], -1);
}

static void test_cells(void **state)
{
    static const int four[] = {1, 0x7fff, 0x8000, 0xffff};
    int back[KILN_MAX_AXES];

    (void)state;
    assert_int_equal(kiln_cell_pack(four, 4), UINT64_C(0xffff80007fff0001));
    assert_int_equal(kiln_cell_pack(four, 1), KILN_CELL1(1));
    assert_int_equal(kiln_cell_pack(four, 2), KILN_CELL2(1, 0x7fff));
    assert_int_equal(kiln_cell_pack(four, 0), 0);
    for (int n = 0; n <= 4; n++) {
        kiln_cell_unpack(kiln_cell_pack(four, n), n, back);
        for (int i = 0; i < n; i++) {
            assert_int_equal(back[i], four[i]);
        }
    }
}

/* --- text ----------------------------------------------------------------- */

static void expect_text(const kiln_key *key, int p0, int p1, const char *wanted)
{
    int positions[KILN_MAX_AXES] = {p0, p1};
    char text[KILN_KEY_TEXT];

    kiln_key_text(&core_tables, key, positions, text, sizeof text);
    assert_string_equal(text, wanted);
}

static void test_text(void **state)
{
    kiln_key key = make_key(OP_SOFTMAX);

    (void)state;
    key.route = 1;
    key.dtypes[0] = key.dtypes[1] = KILN_F16;
    expect_text(&key, 2, 3,
                "softmax/looped f16 log=0 contiguous M=1024 N=32768");
    key.dtypes[1] = KILN_F32;
    key.baked[1] = 1;
    key.layout = KILN_INNER;
    key.route = 0;
    expect_text(&key, KILN_CENSUS_BIT | 1, 1,
                "softmax/single f16_f32 log=1 inner M=100 N=64");
    key.classes = KILN_CLASS_ALIGN;
    key.align_log2 = 4;
    key.layout = KILN_GENERAL;
    expect_text(&key, 0, KILN_CENSUS_BIT | 0,
                "softmax/single f16_f32 log=1 general align16 M=4 N=50");
    key.classes = KILN_CLASS_WIDE;
    key.size[0] = 40000;
    key.size[1] = 0;
    expect_text(&key, -1, -1,
                "softmax/single f16_f32 log=1 general o32 M=>40000 N=0");
    key.classes = KILN_CLASS_ALIGN | KILN_CLASS_WIDE;
    key.wide = true;
    key.align_log2 = 0;
    key.size[1] = INT64_MIN;
    expect_text(&key, 3, -1,
                "softmax/single f16_f32 log=1 general align1 o64 M=32768 "
                "N=-9223372036854775808");
    key = make_key(OP_ADD);
    key.dtypes[0] = KILN_F16;
    key.dtypes[1] = key.dtypes[2] = KILN_F32;
    key.baked[ADD_SHIFT] = -3;
    key.baked[ADD_MODE] = 1;
    expect_text(&key, 1, 0,
                "add/map f16_f32 flip=0 mode=tanh shift=-3 contiguous n=4096");
    key.dtypes[1] = KILN_NONE;
    key.baked[ADD_MODE] = 2;
    key.baked[ADD_FLIP] = 1;
    expect_text(
        &key, KILN_CENSUS_BIT, 0,
        "add/map f16_none flip=1 mode=sigmoid shift=-3 contiguous n=77");
    /* No keyed tensor, no attribute, no space: then no words for them. */
    key = make_key(OP_NEED);
    key.route = 1;
    expect_text(&key, 1, 0, "need/many q=64");
    key = make_key(OP_QUAD);
    expect_text(&key, 0, 0, "quad/map contiguous n=64");
}

static void test_group_text(void **state)
{
    kiln_key key = make_key(OP_SOFTMAX);
    char text[KILN_KEY_TEXT];

    (void)state;
    key.dtypes[0] = key.dtypes[1] = KILN_F32;
    kiln_group_text(&key, text, sizeof text);
    assert_string_equal(text, "softmax/single f32 log=0 contiguous");
    /* Cut, with its end, at any room. */
    for (size_t cap = 1; cap <= 36; cap++) {
        memset(text, 'x', sizeof text);
        kiln_group_text(&key, text, cap);
        assert_int_equal(strlen(text), cap - 1);
        assert_memory_equal(text, "softmax/single f32 log=0 contiguous",
                            cap - 1);
        assert_int_equal(text[cap], 'x');
    }
}

/* The longest names a spec may have, in the longest key. */
static void test_longest_text(void **state)
{
    char name[41];
    const char *choices[16];
    kiln_op_attr attrs[KILN_MAX_ATTRS];
    kiln_op_tensor tensors[6];
    kiln_axis axes[KILN_MAX_AXES];
    const int64_t most = INT64_MAX;
    const kiln_ladder ladder = {name, &most, 1, NULL, 0};
    const kiln_tables tables = {.ladders = &ladder, .n_ladders = 1};
    const kiln_route route = {.name = name};
    kiln_op op = {.name = name,
                  .tensors = tensors,
                  .attrs = attrs,
                  .axes = axes,
                  .routes = &route,
                  .space = KILN_SPACE_ROWS};
    kiln_key key = {.op = &op};
    const int positions[KILN_MAX_AXES] = {0};
    char text[2 * KILN_KEY_TEXT];
    uint64_t out;

    (void)state;
    memset(name, 'n', 40);
    name[40] = '\0';
    for (int i = 0; i < 16; i++) {
        choices[i] = name;
    }
    /* 2 choices and 10 flags: 18 bits. */
    for (int i = 0; i < KILN_MAX_ATTRS; i++) {
        attrs[i] =
            (kiln_op_attr){.name = name,
                           .type = i < 2 ? KILN_TYPE_STRING : KILN_TYPE_BOOL,
                           .baked = 1,
                           .choices = choices,
                           .n_choices = 16};
    }
    for (int i = 0; i < 6; i++) {
        tensors[i] = (kiln_op_tensor){.name = name, .keyed = 1};
        key.dtypes[i] = i == 0 ? KILN_BOOL : KILN_BF16;
    }
    for (int i = 0; i < KILN_MAX_AXES; i++) {
        axes[i] = (kiln_axis){.name = name};
    }
    op.n_attrs = KILN_MAX_ATTRS;
    op.n_tensors = 6;
    op.n_axes = KILN_MAX_AXES;
    key.classes = KILN_CLASS_ALIGN | KILN_CLASS_WIDE;
    key.align_log2 = 4;
    assert_true(kiln_group_pack(&key, &out));
    kiln_key_text(&tables, &key, positions, text, sizeof text);
    assert_true(strlen(text) > 256);
    assert_true(strlen(text) < KILN_KEY_TEXT);
}

/* --- round trip ----------------------------------------------------------- */

static uint32_t seed = 1;

static int below(int n) /* Marsaglia's xorshift, 2003 */
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (int)(seed % (uint32_t)n);
}

static int64_t random_baked(const kiln_op_attr *attr)
{
    if (!attr->baked) {
        return 0;
    }
    switch (attr->type) {
    case KILN_TYPE_STRING:
        return below(attr->n_choices);
    case KILN_TYPE_BOOL:
        return below(2);
    default:
        return below(256) - 128;
    }
}

/* Of a variant; false: the op has none. */
static bool pick_route(kiln_key *key)
{
    for (int i = 0; i < 20; i++) {
        key->route = below(key->op->n_routes);
        if (!key->op->routes[key->route].composite) {
            return true;
        }
    }
    return false;
}

/* Any key of any op, at any positions. */
static void random_key(const kiln_arch *arch, kiln_key *key, int *positions)
{
    do {
        *key = make_key(below(core_tables.n_ops));
    } while (!pick_route(key));
    key->classes = arch->classes;
    key->layout =
        (uint8_t)(key->op->space == KILN_SPACE_NONE ? 0
                                                    : below(KILN_LAYOUT_COUNT));
    key->align_log2 =
        key->classes & KILN_CLASS_ALIGN && below(2) ? KILN_VECTOR_LOG2 : 0;
    key->wide = (key->classes & KILN_CLASS_WIDE) != 0 && below(2);
    for (int t = 0; t < key->op->n_tensors; t++) {
        if (key->op->tensors[t].keyed) {
            key->dtypes[t] = (uint8_t)below(KILN_DTYPE_COUNT);
        }
    }
    for (int a = 0; a < key->op->n_attrs; a++) {
        key->baked[a] = random_baked(&key->op->attrs[a]);
    }
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_ladder *ladder =
            &core_tables.ladders[key->op->axes[i].ladder];
        int64_t low;
        bool exact = ladder->n_census > 0 && below(3) == 0;

        positions[i] = exact ? KILN_CENSUS_BIT | below(ladder->n_census)
                             : below(ladder->n_edges);
        kiln_ladder_range(ladder, positions[i], &low, &key->size[i]);
    }
    assert_true(kiln_group_pack(key, &key->group));
}

static void expect_same(const kiln_key *a, const kiln_key *b, const char *text)
{
    bool same = a->op == b->op && a->route == b->route &&
                a->layout == b->layout && a->align_log2 == b->align_log2 &&
                a->wide == b->wide && a->classes == b->classes &&
                a->group == b->group &&
                memcmp(a->dtypes, b->dtypes, sizeof a->dtypes) == 0 &&
                memcmp(a->baked, b->baked, sizeof a->baked) == 0 &&
                memcmp(a->size, b->size, sizeof a->size) == 0;

    if (!same) {
        fail_msg("\"%s\" reads as another key", text);
    }
}

static void expect_back(const kiln_arch *arch, const kiln_key *key,
                        const int *positions)
{
    char text[KILN_KEY_TEXT], again[KILN_KEY_TEXT], why[256] = "";
    int back[KILN_MAX_AXES];
    kiln_key read;

    kiln_key_text(&core_tables, key, positions, text, sizeof text);
    if (!kiln_key_parse(&core_tables, arch, text, &read, back, why,
                        sizeof why)) {
        fail_msg("\"%s\": %s", text, why);
    }
    expect_same(key, &read, text);
    for (int i = 0; i < key->op->n_axes; i++) {
        assert_int_equal(back[i], positions[i]);
    }
    kiln_key_text(&core_tables, &read, back, again, sizeof again);
    assert_string_equal(text, again);
}

static void test_round_trip(void **state)
{
    const kiln_arch *archs[] = {core_plain, core_aligned, core_classed};

    (void)state;
    for (int i = 0; i < 60000; i++) {
        kiln_key key;
        int positions[KILN_MAX_AXES];

        random_key(archs[i % 3], &key, positions);
        expect_back(archs[i % 3], &key, positions);
    }
}

static void test_reads_blanks_and_beyond(void **state)
{
    kiln_key key;
    int positions[KILN_MAX_AXES];
    char why[256];

    (void)state;
    assert_true(
        kiln_key_parse(&core_tables, core_plain,
                       "  softmax/looped   f16_f32 log=1 inner M=>40000 "
                       "  N=77 ",
                       &key, positions, why, sizeof why));
    assert_int_equal(key.route, 1);
    assert_int_equal(key.dtypes[0], KILN_F16);
    assert_int_equal(key.dtypes[1], KILN_F32);
    assert_int_equal(key.baked[1], 1);
    assert_int_equal(key.layout, KILN_INNER);
    assert_int_equal(key.size[0], 40000);
    assert_int_equal(positions[0], -1);
    assert_int_equal(key.size[1], 77); /* within a bucket, no edge */
    assert_int_equal(positions[1], -1);
}

static void test_wrong_texts(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "softmax",
        "softmax/",
        "/single",
        "/",
        "sofmax/single f32 log=0 contiguous M=4 N=16",
        "softmaxx/single f32 log=0 contiguous M=4 N=16",
        "softmax/singl f32 log=0 contiguous M=4 N=16",
        "softmax/single/x f32 log=0 contiguous M=4 N=16",
        "softmax/single f31 log=0 contiguous M=4 N=16",
        "softmax/single F32 log=0 contiguous M=4 N=16",
        "softmax/single f32_ log=0 contiguous M=4 N=16",
        "softmax/single _f32 log=0 contiguous M=4 N=16",
        "softmax/single f32_f32_f32 log=0 contiguous M=4 N=16",
        "softmax/single log=0 contiguous M=4 N=16",
        "softmax/single f32 contiguous M=4 N=16",
        "softmax/single f32 log= contiguous M=4 N=16",
        "softmax/single f32 log=x contiguous M=4 N=16",
        "softmax/single f32 log=0x contiguous M=4 N=16",
        "softmax/single f32 log=2 contiguous M=4 N=16",
        "softmax/single f32 log=-1 contiguous M=4 N=16",
        "softmax/single f32 dim=0 log=0 contiguous M=4 N=16",
        "softmax/single f32 log=0 contig M=4 N=16",
        "softmax/single f32 log=0 contiguousx M=4 N=16",
        "softmax/single f32 log=0 M=4 N=16",
        "softmax/single f32 log=0 contiguous align16 M=4 N=16",
        "softmax/single f32 log=0 contiguous o64 M=4 N=16",
        "softmax/single f32 log=0 contiguous",
        "softmax/single f32 log=0 contiguous M=4",
        "softmax/single f32 log=0 contiguous N=16 M=4",
        "softmax/single f32 log=0 contiguous M=4 N=",
        "softmax/single f32 log=0 contiguous M= N=16",
        "softmax/single f32 log=0 contiguous M=> N=16",
        "softmax/single f32 log=0 contiguous M=4x N=16",
        "softmax/single f32 log=0 contiguous M=4.0 N=16",
        "softmax/single f32 log=0 contiguous M=+4 N=16",
        "softmax/single f32 log=0 contiguous M=04 N=16",
        "softmax/single f32 log=0 contiguous M=-0 N=16",
        "softmax/single f32 log=0 contiguous M=9223372036854775808 N=16",
        "softmax/single f32 log=00 contiguous M=4 N=16",
        "softmax/single f32_f32 log=0 contiguous M=4 N=16",
        "softmax/single f32 log=0 contiguous M=4 N=16 K=1",
        "softmax/single f32 log=0 contiguous M=4 N=16 x",
        "softmax/single\tf32\tlog=0\tcontiguous\tM=4\tN=16",
        "softmax/single f32 log=0 contiguous M=4 N=16\n",
        "add/map f32 flip=0 mode=relu shift=0 contiguous n=64",
        "add/map f32 flip=0 mode=none shift=128 contiguous n=64",
        ("add/map f32 flip=0 mode=none shift=99999999999999999999 contiguous "
         "n=64"),
        "add/map f32 mode=none flip=0 shift=0 contiguous n=64",
    };
    kiln_key key;
    int positions[KILN_MAX_AXES];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char why[256] = "";

        if (kiln_key_parse(&core_tables, core_plain, texts[i], &key, positions,
                           why, sizeof why)) {
            fail_msg("\"%s\" is taken for a key", texts[i]);
        }
        if (strncmp(why, "expected ", 9) != 0) {
            fail_msg("\"%s\": \"%s\" says not what is expected", texts[i], why);
        }
    }
}

/* What is changed anywhere is refused in words, or is a key whose text gives
 * that key again. */
static void test_changed_texts(void **state)
{
    static const char marks[] = " =/_>-+0123456789MNfbx\t\n";
    int taken = 0;

    (void)state;
    for (int i = 0; i < 60000; i++) {
        char text[KILN_KEY_TEXT + 1], why[256] = "";
        int positions[KILN_MAX_AXES];
        kiln_key key, read;
        size_t n;

        random_key(core_classed, &key, positions);
        kiln_key_text(&core_tables, &key, positions, text, sizeof text);
        n = strlen(text);
        for (int k = below(3); k >= 0; k--) {
            text[below((int)n)] = marks[below((int)sizeof marks - 1)];
        }
        if (below(4) == 0) {
            text[below((int)n)] = '\0';
        }
        if (!kiln_key_parse(&core_tables, core_classed, text, &read, positions,
                            why, sizeof why)) {
            assert_true(why[0] != '\0' && strlen(why) < sizeof why);
            continue;
        }
        taken++;
        expect_back(core_classed, &read, positions);
    }
    print_message("# %d of 60000 changed texts are keys\n", taken);
    assert_true(taken > 1000);
}

/* Every size of a ladder lies in one of its buckets and no other, from 1 to
 * the last edge: by walking, not by looking up. */
static void test_ladders_are_complete(void **state)
{
    (void)state;
    for (int l = 0; l < core_tables.n_ladders; l++) {
        const kiln_ladder *ladder = &core_tables.ladders[l];
        int64_t next = 1;

        for (int i = 0; i < ladder->n_edges; i++) {
            int64_t low, high;

            kiln_ladder_range(ladder, i, &low, &high);
            assert_int_equal(low + 1, next);
            assert_true(high > low);
            for (int k = 0; k < 1000; k++) {
                int64_t v = low + 1 + (high - low) / 1000 * k;
                assert_int_equal(kiln_ladder_bucket(ladder, v), i);
            }
            assert_int_equal(kiln_ladder_bucket(ladder, high), i);
            next = high + 1;
        }
        assert_int_equal(kiln_ladder_bucket(ladder, next), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packs_apart),
        cmocka_unit_test(test_does_not_pack),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_census),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_group_text),
        cmocka_unit_test(test_longest_text),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_reads_blanks_and_beyond),
        cmocka_unit_test(test_wrong_texts),
        cmocka_unit_test(test_changed_texts),
        cmocka_unit_test(test_ladders_are_complete),
    };

    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
