/* sources: runtime/core/ out/table/ out/table/op/ out/table/cpu/
 * out/table/sm75/ out/table/sm80/ out/table/sm90/ build/cuda/ out/cpu/units/ */
/* Walks every row of the committed tables: nothing dangles, nothing is out of
 * order, each key is found by the look-up, and KEYS.tsv and STALE.tsv list the
 * same. OUT names another tree than out/.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/lookup.h"
#include "core/tables.h"

extern const kiln_tables kiln_generated_tables;
static const kiln_tables *const T = &kiln_generated_tables;

#define LINE 2048

/* Calls visit for each op with keys of each tier and ISA. */
typedef void visit_fn(const kiln_tier_table *tier, const kiln_op *op,
                      const kiln_op_keys *keys, void *user);
static void each(visit_fn *visit, void *user)
{
    for (int t = 0; t < T->n_tiers; t++) {
        for (int i = 0; i < T->n_ops; i++) {
            if (T->tiers[t]->ops[i] != NULL) {
                visit(T->tiers[t], T->ops[i], T->tiers[t]->ops[i], user);
            }
        }
    }
}

/* --- ladders, ops, tiers -------------------------------------------------- */

static void test_root(void **state)
{
    (void)state;
    assert_int_equal(T->layout, KILN_TABLE_LAYOUT);
    for (int i = 1; i < T->n_ops; i++) {
        assert_true(strcmp(T->ops[i - 1]->name, T->ops[i]->name) < 0);
    }
    for (int i = 1; i < T->n_arch_fields; i++) {
        assert_true(strcmp(T->arch_fields[i - 1], T->arch_fields[i]) < 0);
    }
    assert_true(T->n_archs > 0);
    for (int i = 0; i < T->n_archs; i++) {
        assert_int_equal(T->archs[i].n_fields, T->n_arch_fields);
    }
    for (int i = 0; i < T->n_tiers; i++) {
        assert_int_equal(T->tiers[i]->n_ops, T->n_ops);
    }
    for (int i = 0; i < T->n_ops; i++) {
        int found = -1;
        assert_ptr_equal(kiln_find_op(T, T->ops[i]->name, &found), T->ops[i]);
        assert_int_equal(found, i);
    }
}

static void test_ladders(void **state)
{
    (void)state;
    for (int l = 0; l < T->n_ladders; l++) {
        const kiln_ladder *ladder = &T->ladders[l];
        int64_t before = 0;
        assert_true(l == 0 || strcmp(T->ladders[l - 1].name, ladder->name) < 0);
        assert_true(ladder->n_edges > 0);
        for (int i = 0; i < ladder->n_edges; i++) {
            const int64_t edge = ladder->edges[i];
            assert_true(edge > before);
            assert_true(edge <= 64 || edge - before <= before);
            assert_int_equal(kiln_ladder_bucket(ladder, before + 1), i);
            assert_int_equal(kiln_ladder_bucket(ladder, edge), i);
            assert_int_equal(kiln_ladder_census(ladder, edge), -1);
            before = edge;
        }
        assert_int_equal(kiln_ladder_bucket(ladder, before + 1), -1);
        assert_int_equal(kiln_ladder_bucket(ladder, 0), -1);
        for (int i = 0; i < ladder->n_census; i++) {
            assert_true(i == 0 || ladder->census[i - 1] < ladder->census[i]);
            assert_int_equal(kiln_ladder_census(ladder, ladder->census[i]), i);
        }
    }
}

/* --- kernels -------------------------------------------------------------- */

static void visit_kernels(const kiln_tier_table *tier, const kiln_op *op,
                          const kiln_op_keys *keys, void *user)
{
    const bool cpu = strcmp(tier->tier, "cpu") == 0;
    (void)user;
    assert_string_equal(keys->op, op->name);
    for (int k = 0; k < keys->n_kernels; k++) {
        const kiln_kernel *kernel = &keys->kernels[k];
        const size_t n = strlen(op->name);
        assert_true(k == 0 ||
                    strcmp(keys->kernels[k - 1].symbol, kernel->symbol) < 0);
        assert_true(strlen(kernel->symbol) < 64);
        assert_memory_equal(kernel->symbol, op->name, n);
        assert_int_equal(kernel->symbol[n], '_');
        assert_true((kernel->cpu != NULL) == cpu);
        assert_true((kernel->module != NULL) == !cpu);
        for (int j = 0; cpu && j < k; j++) {
            assert_true(keys->kernels[j].cpu != kernel->cpu);
        }
        assert_non_null(kernel->recipe);
        assert_true(kernel->recipe->n_slots > 0);
        assert_true(kernel->recipe->units.n_code > 0);
        assert_true(kernel->error >= 0 && kernel->error <= 1);
    }
}

/* "lanes=16 unroll=2" of the values that the planner sees. */
static void visit_configs(const kiln_tier_table *tier, const kiln_op *op,
                          const kiln_op_keys *keys, void *user)
{
    (void)tier, (void)op, (void)user;
    for (int k = 0; k < keys->n_kernels; k++) {
        const kiln_kernel *kernel = &keys->kernels[k];
        const char *at = kernel->config;
        for (int v = 0; v < kernel->n_values; v++) {
            char *end;
            assert_non_null(at = strchr(at, '='));
            assert_int_equal(strtoll(at + 1, &end, 10), kernel->values[v]);
            assert_int_equal(*end, v + 1 < kernel->n_values ? ' ' : '\0');
            at = end;
        }
    }
}

/* The forms of a kernel have one name in every ISA, and are not one function.
 */
static void test_forms(void **state)
{
    (void)state;
    for (int t = 1; t < T->n_tiers; t++) {
        for (int i = 0; i < T->n_ops; i++) {
            const kiln_op_keys *a = T->tiers[0]->ops[i];
            const kiln_op_keys *b = T->tiers[t]->ops[i];
            if (a == NULL || b == NULL ||
                strcmp(T->tiers[t]->tier, T->tiers[0]->tier) != 0) {
                continue;
            }
            assert_int_equal(a->n_kernels, b->n_kernels);
            for (int k = 0; k < a->n_kernels; k++) {
                assert_string_equal(a->kernels[k].symbol, b->kernels[k].symbol);
                assert_true(a->kernels[k].cpu != b->kernels[k].cpu);
            }
        }
    }
}

static void test_kernels(void **state)
{
    (void)state;
    each(visit_kernels, NULL);
    each(visit_configs, NULL);
}

/* --- groups --------------------------------------------------------------- */

static uint64_t take(uint64_t *packed, int bits)
{
    const uint64_t value = *packed & ((UINT64_C(1) << bits) - 1);
    *packed >>= bits;
    return value;
}

/* The key that kiln_group_pack packed: its fields from the lowest up. */
static kiln_key unpack(const kiln_op *op, uint64_t packed)
{
    kiln_key key = {.op = op, .group = packed};
    uint64_t baked, dtypes;
    key.wide = take(&packed, 1);
    key.align_log2 = (uint8_t)take(&packed, 3);
    key.layout = (uint8_t)take(&packed, 2);
    key.classes = (uint8_t)take(&packed, 2);
    baked = take(&packed, 20);
    dtypes = take(&packed, 24);
    key.route = (int32_t)packed;
    for (int a = op->n_attrs - 1; a >= 0; a--) {
        const kiln_op_attr *attr = &op->attrs[a];
        if (attr->baked) {
            const bool is_int = attr->type == KILN_TYPE_INT;
            const int bits = attr->type == KILN_TYPE_BOOL ? 1 : is_int ? 8 : 4;
            key.baked[a] = (int64_t)take(&baked, bits) - (is_int ? 128 : 0);
        }
    }
    for (int t = op->n_tensors - 1; t >= 0; t--) {
        if (op->tensors[t].keyed) {
            key.dtypes[t] = (uint8_t)take(&dtypes, 4);
        }
    }
    assert_true(baked == 0 && dtypes == 0);
    return key;
}

static void check_group(const kiln_op *op, const kiln_group *group)
{
    const kiln_key key = unpack(op, group->packed);
    char text[KILN_KEY_TEXT];
    uint64_t packed;
    assert_in_range(key.route, 0, op->n_routes - 1);
    assert_int_equal(op->routes[key.route].composite, 0);
    kiln_group_text(&key, text, sizeof text);
    assert_string_equal(text, group->text);
    assert_true(kiln_group_pack(&key, &packed));
    assert_true(packed == group->packed);
}

static void visit_groups(const kiln_tier_table *tier, const kiln_op *op,
                         const kiln_op_keys *keys, void *user)
{
    (void)tier, (void)user;
    for (int g = 0; g < keys->n_groups; g++) {
        const kiln_group *group = &keys->groups[g];
        assert_true(g == 0 || keys->groups[g - 1].packed < group->packed);
        check_group(op, group);
        for (int c = 0; c < group->n_configs; c++) {
            assert_in_range(group->configs[c], 0, keys->n_kernels - 1);
            const kiln_kernel *kernel = &keys->kernels[group->configs[c]];
            assert_ptr_equal(kiln_find_config(keys, group, kernel->config),
                             kernel);
        }
    }
}

static void test_groups(void **state)
{
    (void)state;
    each(visit_groups, NULL);
}

/* --- cells ---------------------------------------------------------------- */

static uint64_t last_cell(const kiln_cell_run *run)
{
    return (run->first & ~(uint64_t)KILN_CELL_AXIS0) | run->last;
}

/* The key of a cell's largest sizes. */
static kiln_key key_of(const kiln_op *op, const kiln_group *group,
                       uint64_t cell, int *positions)
{
    kiln_key key = unpack(op, group->packed);
    kiln_cell_unpack(cell, op->n_axes, positions);
    assert_true(kiln_cell_pack(positions, op->n_axes) == cell);
    for (int i = 0; i < op->n_axes; i++) {
        const kiln_ladder *ladder = &T->ladders[op->axes[i].ladder];
        const bool census = positions[i] & KILN_CENSUS_BIT;
        int64_t low;
        assert_in_range(positions[i] & ~KILN_CENSUS_BIT, 0,
                        (census ? ladder->n_census : ladder->n_edges) - 1);
        kiln_ladder_range(ladder, positions[i], &low, &key.size[i]);
    }
    return key;
}

static void check_run(const kiln_tier_table *tier, const kiln_op_keys *keys,
                      const kiln_group *group, const kiln_cell_run *run)
{
    bool listed = false;
    assert_true(run->first <= last_cell(run));
    assert_int_equal(run->first & KILN_CENSUS_BIT, run->last & KILN_CENSUS_BIT);
    if (run->state & KILN_CELL_STALE) {
        return;
    }
    for (int c = 0; c < group->n_configs; c++) {
        listed = listed || group->configs[c] == run->kernel;
    }
    assert_true(listed);
    assert_in_range(run->kernel, 0, keys->n_kernels - 1);
    assert_in_range(run->device, 0, tier->n_devices - 1);
}

static void check_refused(const kiln_tier_table *tier, const kiln_op_keys *keys,
                          kiln_key key)
{
    kiln_found found;
    kiln_error err;
    memset(&err, 0, sizeof err);
    for (int i = 0; i < key.op->n_axes; i++) {
        const kiln_ladder *ladder = &T->ladders[key.op->axes[i].ladder];
        const int64_t size = key.size[i];
        key.size[i] = ladder->edges[ladder->n_edges - 1] + 1;
        if (kiln_ladder_census(ladder, key.size[i]) < 0) {
            assert_false(kiln_find_cell(T, keys, &key, &found));
            assert_int_equal(kiln_refuse(T, tier, keys, &key, &err),
                             KILN_UNCERTIFIED);
        }
        key.size[i] = size;
    }
}

/* Finds each cell of a run; returns how many. */
static int find_run(const kiln_op *op, const kiln_op_keys *keys,
                    const kiln_group *group, const kiln_cell_run *run)
{
    int n = 0;
    for (uint64_t cell = run->first; cell <= last_cell(run); cell++, n++) {
        int positions[KILN_MAX_AXES];
        kiln_found found;
        const kiln_key key = key_of(op, group, cell, positions);
        assert_true(kiln_find_cell(T, keys, &key, &found));
        assert_ptr_equal(found.group, group);
        assert_ptr_equal(found.run, run);
        assert_true(found.cell == cell);
    }
    return n;
}

static void visit_cells(const kiln_tier_table *tier, const kiln_op *op,
                        const kiln_op_keys *keys, void *user)
{
    long *n = user;
    for (int g = 0; g < keys->n_groups; g++) {
        const kiln_group *group = &keys->groups[g];
        assert_true(group->n_runs > 0);
        for (int r = 0; r < group->n_runs; r++) {
            const kiln_cell_run *run = &group->runs[r];
            assert_true(r == 0 || last_cell(run - 1) < run->first);
            check_run(tier, keys, group, run);
            *n += find_run(op, keys, group, run);
        }
        int positions[KILN_MAX_AXES];
        check_refused(tier, keys,
                      key_of(op, group, group->runs[0].first, positions));
    }
}

static void test_cells(void **state)
{
    long n = 0;
    (void)state;
    each(visit_cells, &n);
    print_message("%ld cells\n", n);
}

/* --- the lists for people ------------------------------------------------- */

typedef struct lines {
    char **line;
    size_t n, room;
} lines;

static void add(lines *l, const char *text)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->line = realloc(l->line, l->room * sizeof *l->line);
        assert_non_null(l->line);
    }
    assert_non_null(l->line[l->n++] = strdup(text));
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void drop(lines *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->line[i]);
    }
    free(l->line);
}

/* Lines of a list but its first, each cut after n columns. */
static void read_list(lines *l, const char *name, int n)
{
    const char *out = getenv("OUT");
    char text[LINE];
    snprintf(text, sizeof text, "%s/%s", out ? out : "out", name);
    FILE *file = fopen(text, "r");
    if (!file) {
        fail_msg("no %s", text);
        return;
    }
    while (fgets(text, sizeof text, file)) {
        char *end = strchr(text, '\t');
        for (int i = 1; i < n && end; i++) {
            end = strchr(end + 1, '\t');
        }
        assert_non_null(strchr(text, '\n'));
        end = end ? end : strchr(text, '\n');
        *end = '\0';
        if (text[0] != '#') {
            add(l, text);
        }
    }
    fclose(file);
}

typedef struct both {
    lines keys, stale;
} both;

/* "threads=64 lanes=32" as a kernel's name ends: "t64_l32"; "block=64":
 * "block64". */
static void config_word(const char *config, char *text, size_t cap)
{
    const bool initials = strchr(config, ' ') != NULL;
    size_t n = 0;
    for (const char *at = config; *at != '\0' && n + 1 < cap;) {
        const char *value = strchr(at, '=');
        const size_t name = initials ? 1 : (size_t)(value - at);
        const size_t digits = strcspn(value + 1, " ");
        n += (size_t)snprintf(text + n, cap - n, "%s%.*s%.*s", n ? "_" : "",
                              (int)name, at, (int)digits, value + 1);
        at = value + 1 + digits;
        at += *at == ' ';
    }
    text[n] = '\0';
}

static void list_cell(const kiln_tier_table *tier, const kiln_op_keys *keys,
                      const kiln_cell_run *run, const char *key, both *found)
{
    char text[LINE], config[128];
    if (run->state & KILN_CELL_STALE) {
        snprintf(text, sizeof text, "%s\t%s\t%s%s%s", keys->op, key, tier->tier,
                 tier->isa[0] ? " " : "", tier->isa);
        add(&found->stale, text);
        return;
    }
    config_word(keys->kernels[run->kernel].config, config, sizeof config);
    snprintf(text, sizeof text, "%s\t%s\t%s\t%s\t%s", keys->op, key, tier->tier,
             tier->isa[0] ? tier->isa : "-", config);
    add(&found->keys, text);
}

static void visit_lists(const kiln_tier_table *tier, const kiln_op *op,
                        const kiln_op_keys *keys, void *user)
{
    for (int g = 0; g < keys->n_groups; g++) {
        const kiln_group *group = &keys->groups[g];
        for (int r = 0; r < group->n_runs; r++) {
            const kiln_cell_run *run = &group->runs[r];
            for (uint64_t c = run->first; c <= last_cell(run); c++) {
                char key[KILN_KEY_TEXT];
                int positions[KILN_MAX_AXES];
                const kiln_key k = key_of(op, group, c, positions);
                kiln_key_text(T, &k, positions, key, sizeof key);
                list_cell(tier, keys, run, key, user);
            }
        }
    }
}

/* KEYS.tsv is the cells one for one; every stale cell is in STALE.tsv, which
 * also lists certificates whose key is no longer declared. */
static void test_lists(void **state)
{
    both found = {{0}, {0}};
    lines keys = {0}, stale = {0};
    (void)state;
    each(visit_lists, &found);
    read_list(&keys, "KEYS.tsv", 5);
    read_list(&stale, "STALE.tsv", 3);
    assert_true(found.keys.n > 0 || keys.n == 0);
    if (found.keys.n > 0) {
        qsort(found.keys.line, found.keys.n, sizeof(char *), by_bytes);
    }
    assert_int_equal(found.keys.n, keys.n);
    for (size_t i = 0; i < keys.n; i++) {
        assert_string_equal(found.keys.line[i], keys.line[i]);
    }
    for (size_t i = 0; i < found.stale.n; i++) {
        assert_true(stale.n > 0);
        assert_non_null(bsearch(&found.stale.line[i], stale.line, stale.n,
                                sizeof(char *), by_bytes));
    }
    drop(&keys);
    drop(&stale);
    drop(&found.keys);
    drop(&found.stale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root),    cmocka_unit_test(test_ladders),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_forms),
        cmocka_unit_test(test_groups),  cmocka_unit_test(test_cells),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
