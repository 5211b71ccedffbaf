/* sources: tests/unit/core_tables.c runtime/core/lookup.c runtime/core/key.c
 * runtime/core/key_text.c runtime/core/error.c runtime/core/space.c
 * runtime/core/view.c runtime/core/arith.c runtime/core/dtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/lookup.h"
#include "core/space.h"
#include "core_tables.h"

/* A key of softmax in f32 on the plain profile. */
static kiln_key softmax_key(int route, int64_t m, int64_t n)
{
    kiln_key key;

    memset(&key, 0, sizeof key);
    key.op = core_tables.ops[OP_SOFTMAX];
    key.route = route;
    key.dtypes[0] = key.dtypes[1] = KILN_F32;
    key.size[0] = m;
    key.size[1] = n;
    assert_true(kiln_group_pack(&key, &key.group));
    return key;
}

static const kiln_op_keys *keys_of(int op)
{
    return core_tier()->ops[op];
}

/* --- ops and groups ------------------------------------------------------- */

static void test_find_op(void **state)
{
    int index;

    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        assert_ptr_equal(
            kiln_find_op(&core_tables, core_tables.ops[i]->name, &index),
            core_tables.ops[i]);
        assert_int_equal(index, i);
        assert_true(i == 0 || strcmp(core_tables.ops[i - 1]->name,
                                     core_tables.ops[i]->name) < 0);
    }
    assert_null(kiln_find_op(&core_tables, "", &index));
    assert_null(kiln_find_op(&core_tables, "ad", &index));
    assert_null(kiln_find_op(&core_tables, "addd", &index));
    assert_null(kiln_find_op(&core_tables, "zzz", &index));
}

static void check_cell(const kiln_op *op, const kiln_op_keys *keys,
                       const kiln_group *group, const kiln_cell_run *run,
                       uint64_t cell)
{
    kiln_key key = {.op = op, .group = group->packed};
    kiln_found found;
    int positions[KILN_MAX_AXES];

    kiln_cell_unpack(cell, op->n_axes, positions);
    for (int i = 0; i < op->n_axes; i++) {
        int64_t low;

        kiln_ladder_range(&core_tables.ladders[op->axes[i].ladder],
                          positions[i], &low, &key.size[i]);
    }
    assert_true(kiln_find_cell(&core_tables, keys, &key, &found));
    assert_ptr_equal(found.group, group);
    assert_ptr_equal(found.run, run);
    assert_int_equal(found.cell, cell);
    key.group++;
    if (kiln_find_cell(&core_tables, keys, &key, &found)) {
        assert_int_equal(found.group->packed, key.group);
    }
}

/* Every cell of every group is found by a size within, and no other is. */
static void check_group(const kiln_op *op, const kiln_op_keys *keys,
                        const kiln_group *group)
{
    for (int r = 0; r < group->n_runs; r++) {
        const kiln_cell_run *run = &group->runs[r];
        uint64_t last = (run->first & ~(uint64_t)KILN_CELL_AXIS0) | run->last;

        for (uint64_t cell = run->first; cell <= last; cell++) {
            check_cell(op, keys, group, run, cell);
        }
    }
}

static void test_find_all(void **state)
{
    static const int served[] = {OP_ADD, OP_QUAD, OP_SOFTMAX, OP_UPDATE};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const kiln_op_keys *keys = keys_of(served[i]);

        for (int g = 0; g < keys->n_groups; g++) {
            assert_true(g == 0 ||
                        keys->groups[g - 1].packed < keys->groups[g].packed);
            check_group(core_tables.ops[served[i]], keys, &keys->groups[g]);
        }
    }
}

/* --- census before lattice ------------------------------------------------ */

/* Which cell serves softmax of M rows and N columns: its text. */
static void expect_cell(int64_t m, int64_t n, const char *wanted)
{
    kiln_key key = softmax_key(0, m, n);
    kiln_found found;
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    if (!kiln_find_cell(&core_tables, keys_of(OP_SOFTMAX), &key, &found)) {
        assert_non_null(found.group);
        assert_null(found.run);
        assert_string_equal("none", wanted);
        return;
    }
    kiln_cell_unpack(found.cell, 2, positions);
    kiln_key_text(&core_tables, &key, positions, text, sizeof text);
    assert_string_equal(strstr(text, "M="), wanted);
}

/* Cells: M 4 with N 16, 64; M 64 with N 16, 64, 1024 and the census's 50;
 * M of the census's 5 with N 64. */
static void test_census_first(void **state)
{
    (void)state;
    expect_cell(6, 49, "M=64 N=64");
    expect_cell(6, 50, "M=64 N=50");
    expect_cell(6, 51, "M=64 N=64");
    expect_cell(5, 49, "M=5 N=64");
    expect_cell(5, 50, "M=5 N=64"); /* axis M comes first */
    expect_cell(5, 16, "M=64 N=16");
    expect_cell(5, 17, "M=5 N=64");
    expect_cell(4, 50, "M=4 N=64"); /* 4 is no census size */
    expect_cell(4, 64, "M=4 N=64");
    expect_cell(4, 65, "none");
    expect_cell(5, 65, "M=64 N=1024");
    expect_cell(64, 1000, "M=64 N=1024"); /* 1000 has no cell of its own */
    expect_cell(100, 50, "none");         /* 100 is a census size, no cell */
    expect_cell(65, 50, "none");
    expect_cell(6, 0, "none");
    expect_cell(-5, 50, "none");
    expect_cell(INT64_MAX, INT64_MAX, "none");
}

/* Beyond the ladder a census cell may still serve. */
static void test_census_beyond(void **state)
{
    static const int64_t edges[] = {10}, census[] = {7, 500};
    static const kiln_ladder ladder = {"l", edges, 1, census, 2};
    static const kiln_tables tables = {.ladders = &ladder, .n_ladders = 1};
    static const kiln_axis axes[4] = {
        {.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
    static const kiln_op op = {.name = "op", .axes = axes, .n_axes = 4};
    static const kiln_cell_run runs[] = {
        {.first = KILN_CELL4(0, 0, 0, KILN_CENSUS_BIT | 1)},
        {.first = KILN_CELL4(0, KILN_CENSUS_BIT, 0, KILN_CENSUS_BIT | 1)},
        {.first = KILN_CELL4(0, 0, KILN_CENSUS_BIT, KILN_CENSUS_BIT | 1)},
    };
    static const kiln_group group = {"op", 3, runs, 3, NULL, 0};
    static const kiln_op_keys keys = {"op", &group, 1, NULL, 0};
    kiln_key key = {.op = &op, .size = {7, 8, 7, 500}, .group = 3};
    kiln_found found;

    (void)state;
    assert_true(kiln_find_cell(&tables, &keys, &key, &found));
    assert_ptr_equal(found.run, &runs[2]);
    key.size[1] = 7; /* axis b before axis c */
    assert_true(kiln_find_cell(&tables, &keys, &key, &found));
    assert_ptr_equal(found.run, &runs[1]);
    key.size[1] = key.size[2] = 10;
    assert_true(kiln_find_cell(&tables, &keys, &key, &found));
    assert_ptr_equal(found.run, &runs[0]);
    key.size[3] = 501;
    assert_false(kiln_find_cell(&tables, &keys, &key, &found));
}

/* A run serves its first cell, its last and those between; not the cell past
 * either end, a census cell, or one elsewhere on axis b. */
static void test_runs(void **state)
{
    static const int64_t edges[] = {10, 20, 30, 40, 50}, census[] = {15, 25};
    static const kiln_ladder ladder = {"l", edges, 5, census, 2};
    static const kiln_tables tables = {.ladders = &ladder, .n_ladders = 1};
    static const kiln_axis axes[2] = {{.name = "a"}, {.name = "b"}};
    static const kiln_op op = {.name = "op", .axes = axes, .n_axes = 2};
    static const kiln_cell_run runs[] = {
        {KILN_CELL2(1, 1), 3, 0, 0, 0},
        {KILN_CELL2(KILN_CENSUS_BIT, 3), KILN_CENSUS_BIT | 1, 0, 0, 0},
    };
    static const kiln_group group = {"op", 3, runs, 2, NULL, 0};
    static const kiln_op_keys keys = {"op", &group, 1, NULL, 0};
    static const struct {
        int64_t a, b;
        int run; /* -1: none */
        uint64_t cell;
    } cases[] = {
        {10, 20, -1, 0},
        {11, 20, 0, KILN_CELL2(1, 1)},
        {25, 20, 0, KILN_CELL2(2, 1)}, /* no census cell there */
        {40, 20, 0, KILN_CELL2(3, 1)},
        {41, 20, -1, 0},
        {30, 10, -1, 0},
        {30, 30, -1, 0},
        {15, 40, 1, KILN_CELL2(KILN_CENSUS_BIT, 3)},
        {25, 40, 1, KILN_CELL2(KILN_CENSUS_BIT | 1, 3)},
        {20, 40, -1, 0},
        {15, 50, -1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_key key = {
            .op = &op, .size = {cases[i].a, cases[i].b}, .group = 3};
        kiln_found found;
        bool is_found = kiln_find_cell(&tables, &keys, &key, &found);

        assert_int_equal(is_found, cases[i].run >= 0);
        if (is_found) {
            assert_ptr_equal(found.run, &runs[cases[i].run]);
            assert_int_equal(found.cell, cases[i].cell);
        }
    }
}

static void test_no_axes(void **state)
{
    static const kiln_op op = {.name = "op"};
    static const kiln_cell_run run = {.first = 0};
    static const kiln_group group = {"op", 3, &run, 1, NULL, 0};
    static const kiln_op_keys keys = {"op", &group, 1, NULL, 0};
    kiln_key key = {.op = &op, .group = 3};
    kiln_found found;

    (void)state;
    assert_true(kiln_find_cell(&core_tables, &keys, &key, &found));
    assert_ptr_equal(found.run, &run);
    key.group = 4;
    assert_false(kiln_find_cell(&core_tables, &keys, &key, &found));
    assert_null(found.group);
    assert_false(kiln_find_cell(&core_tables, NULL, &key, &found));
    assert_null(found.group);
    assert_null(found.run);
}

static void test_config(void **state)
{
    const kiln_op_keys *keys = keys_of(OP_ADD);
    const kiln_group *group = &keys->groups[0];

    (void)state;
    assert_string_equal(kiln_find_config(keys, group, "lanes=16")->symbol,
                        "add_16");
    assert_null(kiln_find_config(keys, group, "lanes=32"));
    assert_null(kiln_find_config(keys, group, "lanes=1"));
    /* softmax_16 exists, but softmax's groups name one config alone. */
    keys = keys_of(OP_SOFTMAX);
    assert_non_null(kiln_find_config(keys, &keys->groups[0], "lanes=8"));
    assert_null(kiln_find_config(keys, &keys->groups[0], "lanes=16"));
}

/* --- refusals ------------------------------------------------------------- */

static void expect_refusal(const kiln_op_keys *keys, const kiln_key *key,
                           const char *isa, const char *text)
{
    kiln_tier_table tier = *core_tier();
    kiln_error err = {KILN_OK, ""};

    tier.isa = isa;
    assert_int_equal(kiln_refuse(&core_tables, &tier, keys, key, &err),
                     KILN_UNCERTIFIED);
    assert_int_equal(err.status, KILN_UNCERTIFIED);
    assert_string_equal(err.text, text);
}

static void test_refusal(void **state)
{
    kiln_key key = softmax_key(1, 5000, 70);

    (void)state;
    /* From 64 rows to 5000 are 6.3 octaves, at 70 columns none; at 64 columns
     * less than one more; any other group is farther. */
    expect_refusal(
        keys_of(OP_SOFTMAX), &key, "base",
        "op softmax: no certificate for key\n"
        "  softmax/looped f32 log=0 contiguous M=32768 N=1024\n"
        "on tier cpu base; nearest certified:\n"
        "  softmax/looped f32 log=0 contiguous M=64 N=1024\n"
        "  softmax/looped f32 log=0 contiguous M=64 N=64\n"
        "  softmax/looped f32 log=0 contiguous M=64 N=50\n"
        "to serve it: declare it in spec/op/softmax.yaml (lattice, key) or "
        "spec/census, then: make certify TIER=cpu OPS=softmax");
    /* The bucket of 5 to 64 rows is as near as the census's 5, and first. */
    key = softmax_key(0, 3, 40000);
    expect_refusal(
        keys_of(OP_SOFTMAX), &key, "",
        "op softmax: no certificate for key\n"
        "  softmax/single f32 log=0 contiguous M=4 N=>40000\n"
        "on tier cpu; nearest certified:\n"
        "  softmax/single f32 log=0 contiguous M=64 N=1024\n"
        "  softmax/single f32 log=0 contiguous M=4 N=64\n"
        "  softmax/single f32 log=0 contiguous M=64 N=64\n"
        "to serve it: declare it in spec/op/softmax.yaml (lattice, key) or "
        "spec/census, then: make certify TIER=cpu OPS=softmax");
}

static void test_refusal_without_keys(void **state)
{
    static const kiln_op_keys empty = {"softmax", NULL, 0, NULL, 0};
    const char *text =
        "op softmax: no certificate for key\n"
        "  softmax/single f32 log=0 contiguous M=4 N=16\n"
        "on tier cpu base; to serve it: declare it in spec/op/softmax.yaml "
        "(lattice, key) or spec/census, then: make certify TIER=cpu "
        "OPS=softmax";
    kiln_key key = softmax_key(0, 4, 16);
    kiln_found found;

    (void)state;
    assert_false(kiln_find_cell(&core_tables, &empty, &key, &found));
    expect_refusal(&empty, &key, "base", text);
    expect_refusal(NULL, &key, "base", text);
}

/* Of groups that differ, the one with the fewest parts that do is near; stale
 * cells are not named. */
static void test_nearest_group(void **state)
{
    kiln_key key = softmax_key(0, 4, 16);
    kiln_tier_table tier = *core_tier();
    kiln_error err;

    (void)state;
    key.dtypes[0] = KILN_F64; /* no group has it */
    key.layout = KILN_GENERAL;
    assert_true(kiln_group_pack(&key, &key.group));
    kiln_refuse(&core_tables, &tier, keys_of(OP_SOFTMAX), &key, &err);
    assert_non_null(strstr(err.text, "  softmax/single f64_f32 log=0 general "
                                     "M=4 N=16\non tier"));
    assert_non_null(strstr(err.text,
                           "nearest certified:\n  softmax/single f16_f32 "
                           "log=0 general M=4 N=16\n"));
    /* Elements up to 2^40 are stale: the largest certified ones are named. */
    memset(&key, 0, sizeof key);
    key.op = core_tables.ops[OP_ADD];
    key.dtypes[0] = key.dtypes[1] = KILN_F32;
    key.baked[ADD_SHIFT] = -3;
    key.size[0] = INT64_MAX;
    assert_true(kiln_group_pack(&key, &key.group));
    kiln_refuse(&core_tables, &tier, keys_of(OP_ADD), &key, &err);
    assert_non_null(strstr(
        err.text, "nearest certified:\n"
                  "  add/map f32 flip=0 mode=none shift=-3 contiguous "
                  "n=1048576\n"
                  "  add/map f32 flip=0 mode=none shift=-3 contiguous n=4096\n"
                  "  add/map f32 flip=0 mode=none shift=-3 contiguous n=64\n"));
}

/* Sizes that no bucket can hold are measured too. */
static void test_extreme_sizes(void **state)
{
    static const int64_t sizes[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    kiln_error err;

    (void)state;
    for (int i = 0; i < 25; i++) {
        kiln_key key = softmax_key(1, sizes[i / 5], sizes[i % 5]);

        assert_int_equal(kiln_refuse(&core_tables, core_tier(),
                                     keys_of(OP_SOFTMAX), &key, &err),
                         KILN_UNCERTIFIED);
        assert_non_null(strstr(err.text, "  softmax/looped f32 log=0 "
                                         "contiguous M="));
        assert_non_null(strstr(err.text, "nearest certified:\n  "
                                         "softmax/looped f32 log=0 "
                                         "contiguous M="));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_op),
        cmocka_unit_test(test_find_all),
        cmocka_unit_test(test_census_first),
        cmocka_unit_test(test_census_beyond),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_no_axes),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_refusal_without_keys),
        cmocka_unit_test(test_nearest_group),
        cmocka_unit_test(test_extreme_sizes),
    };

    return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
