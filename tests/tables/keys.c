/* keys.c: properties of the generated tables, by the core that reads them:
 *
 *   keys KEYS.tsv SEED
 *
 * Ladders are complete and their buckets disjoint, by walking them. Every
 * certified key of KEYS.tsv is read, written again as it was, and found by any
 * size within it, and the tables hold no other. Random keys of every op read
 * back as what they are.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lookup.h"
#include "core/space.h"

extern const kiln_tables kiln_generated_tables;

static const kiln_tables *const tables = &kiln_generated_tables;

typedef struct run {
    uint64_t state;
    long checked;
    char problem[4096];
} run;

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t roll(run *r)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int64_t between(run *r, int64_t low, int64_t high)
{
    return low + (int64_t)(roll(r) % ((uint64_t)(high - low) + 1));
}

static bool fail(run *r, const char *text, const char *what)
{
    snprintf(r->problem, sizeof r->problem, "%.2000s: %.2000s", text, what);
    return false;
}

static void report(run *r, bool good, const char *name, int *failed)
{
    printf("%sok %s: %ld\n", good ? "" : "not ", name, r->checked);
    if (!good) {
        printf("# %s\n", r->problem);
        ++*failed;
    }
    r->checked = 0;
}

/* --- ladders -------------------------------------------------------------- */

/* In how many buckets v lies, counted over all of them. */
static int count_buckets(const kiln_ladder *ladder, int64_t v, int *which)
{
    int n = 0;

    for (int i = 0; i < ladder->n_edges; i++) {
        int64_t low, high;
        kiln_ladder_range(ladder, i, &low, &high);
        if (low < v && v <= high) {
            *which = i;
            n++;
        }
    }
    return n;
}

static bool check_size(run *r, const kiln_ladder *ladder, int64_t v)
{
    const int64_t last = ladder->edges[ladder->n_edges - 1];
    const int wanted = v >= 1 && v <= last;
    int which = -1;
    char text[128];

    r->checked++;
    snprintf(text, sizeof text, "ladder %.40s, size %lld", ladder->name,
             (long long)v);
    if (count_buckets(ladder, v, &which) != wanted) {
        return fail(r, text, wanted ? "not in one bucket" : "in a bucket");
    }
    return kiln_ladder_bucket(ladder, v) == which ||
           fail(r, text, "another bucket");
}

static bool check_ladder(run *r, const kiln_ladder *ladder)
{
    const int64_t last = ladder->edges[ladder->n_edges - 1];
    static const int64_t odd[] = {INT64_MIN, -1, 0, INT64_MAX};
    bool good = true;

    for (int i = 0; i < 4 && good; i++) {
        good = check_size(r, ladder, odd[i]);
    }
    for (int i = 0; i < ladder->n_edges && good; i++) {
        int64_t low = i > 0 ? ladder->edges[i - 1] : 0;
        good = check_size(r, ladder, ladder->edges[i] - 1) &&
               check_size(r, ladder, ladder->edges[i]) &&
               check_size(r, ladder, ladder->edges[i] + 1) &&
               ladder->edges[i] > low &&
               ladder->edges[i] <= (low >= 64 ? 2 * low : 128);
        if (!good && !r->problem[0]) {
            fail(r, ladder->name, "a bucket above 64 spans over a factor 2");
        }
    }
    for (int i = 0; i < 20000 && good; i++) {
        good = check_size(r, ladder, between(r, 1, last));
    }
    for (int i = 0; i + 1 < ladder->n_census && good; i++) {
        good = ladder->census[i] < ladder->census[i + 1] ||
               fail(r, ladder->name, "census sizes do not ascend");
    }
    return good;
}

static bool check_ladders(run *r)
{
    bool good = tables->n_ladders > 0;

    for (int i = 0; i < tables->n_ladders && good; i++) {
        good = check_ladder(r, &tables->ladders[i]);
    }
    return good;
}

/* --- certified keys ------------------------------------------------------- */

static const kiln_tier_table *find_tier(const char *tier, const char *isa)
{
    for (int i = 0; i < tables->n_tiers; i++) {
        if (strcmp(tables->tiers[i]->tier, tier) == 0 &&
            strcmp(tables->tiers[i]->isa, isa) == 0) {
            return tables->tiers[i];
        }
    }
    return NULL;
}

static const kiln_arch *find_arch(const char *tier)
{
    for (int i = 0; i < tables->n_archs; i++) {
        if (strcmp(tables->archs[i].tier, tier) == 0) {
            return &tables->archs[i];
        }
    }
    return NULL;
}

static bool check_text(run *r, const kiln_arch *arch, const char *text,
                       kiln_key *key, int *positions)
{
    char again[KILN_KEY_TEXT], why[256] = "";

    if (!kiln_key_parse(tables, arch, text, key, positions, why, sizeof why)) {
        return fail(r, text, why);
    }
    for (int i = 0; i < key->op->n_axes; i++) {
        if (positions[i] < 0) {
            return fail(r, text, "a size that is no edge");
        }
    }
    kiln_key_text(tables, key, positions, again, sizeof again);
    return strcmp(text, again) == 0 || fail(r, text, again);
}

/* The group is there by its packed key, and says the same words. */
static bool check_group(run *r, const kiln_group *group, const kiln_key *key,
                        const char *text)
{
    char words[KILN_KEY_TEXT];

    kiln_group_text(key, words, sizeof words);
    return (strcmp(group->text, words) == 0 && group->packed == key->group) ||
           fail(r, text, "its group is another");
}

/* A kernel's name ends with its config. */
static bool ends_with(const char *symbol, const char *config)
{
    size_t n = strlen(symbol), ending = strlen(config);

    return n > ending && symbol[n - ending - 1] == '_' &&
           strcmp(symbol + n - ending, config) == 0;
}

/* Sizes of the key's cells: the least, the largest, one between. */
static bool check_found(run *r, const kiln_op_keys *keys, kiln_key *key,
                        const int *positions, const char *text,
                        const char *config)
{
    for (int i = 0; i < 3; i++) {
        kiln_found found;

        for (int a = 0; a < key->op->n_axes; a++) {
            int64_t low, high;
            kiln_ladder_range(&tables->ladders[key->op->axes[a].ladder],
                              positions[a], &low, &high);
            key->size[a] = i == 0   ? low + 1
                           : i == 1 ? high
                                    : between(r, low + 1, high);
        }
        r->checked++;
        if (!kiln_find_cell(tables, keys, key, &found)) {
            return fail(r, text, "a size within it finds no cell");
        }
        if (!check_group(r, found.group, key, text)) {
            return false;
        }
        /* A census cell within a bucket takes its size first. */
        if (found.cell == kiln_cell_pack(positions, key->op->n_axes) &&
            !ends_with(keys->kernels[found.run->kernel].symbol, config)) {
            return fail(r, text, keys->kernels[found.run->kernel].symbol);
        }
        if (i == 1 &&
            found.cell != kiln_cell_pack(positions, key->op->n_axes)) {
            return fail(r, text, "its largest size finds another cell");
        }
    }
    return true;
}

static const kiln_op_keys *keys_of(const kiln_tier_table *tier,
                                   const kiln_op *op)
{
    for (int i = 0; i < tier->n_ops; i++) {
        if (tables->ops[i] == op) {
            return tier->ops[i];
        }
    }
    return NULL;
}

/* op key tier isa config ... */
static bool check_line(run *r, char *line)
{
    char *f[5];
    kiln_key key;
    int positions[KILN_MAX_AXES];

    for (int i = 0; i < 5; i++) {
        f[i] = strsep(&line, "\t");
        if (line == NULL) {
            return fail(r, f[0], "no line of KEYS.tsv");
        }
    }
    const kiln_tier_table *tier =
        find_tier(f[2], strcmp(f[3], "-") == 0 ? "" : f[3]);
    const kiln_arch *arch = find_arch(f[2]);
    if (!tier || !arch) {
        return fail(r, f[1], "its tier is not in the tables");
    }
    if (!check_text(r, arch, f[1], &key, positions)) {
        return false;
    }
    const kiln_op_keys *keys = keys_of(tier, key.op);
    return keys ? check_found(r, keys, &key, positions, f[1], f[4])
                : fail(r, f[1], "its op has no keys");
}

static long count_group(const kiln_group *group)
{
    long n = 0;

    for (int i = 0; i < group->n_runs; i++) {
        const kiln_cell_run *row = &group->runs[i];

        if (!(row->state & KILN_CELL_STALE)) {
            n += row->last - (long)(row->first & KILN_CELL_AXIS0) + 1;
        }
    }
    return n;
}

static long count_cells(void)
{
    long n = 0;

    for (int t = 0; t < tables->n_tiers; t++) {
        for (int o = 0; o < tables->tiers[t]->n_ops; o++) {
            const kiln_op_keys *keys = tables->tiers[t]->ops[o];
            for (int g = 0; keys && g < keys->n_groups; g++) {
                n += count_group(&keys->groups[g]);
            }
        }
    }
    return n;
}

static bool check_keys(run *r, const char *path)
{
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    long n = 0;
    bool good = in != NULL || fail(r, path, "cannot be read");

    while (good && getline(&line, &cap, in) > 0) {
        if (*line != '#') {
            n++;
            good = check_line(r, line);
        }
    }
    free(line);
    if (in) {
        fclose(in);
    }
    if (good && n != count_cells()) {
        char what[96];
        snprintf(what, sizeof what, "%ld lines, the tables have %ld cells", n,
                 count_cells());
        good = fail(r, path, what);
    }
    return good && n > 0;
}

/* --- random keys ---------------------------------------------------------- */

static bool pick_variant(run *r, kiln_key *key)
{
    for (int i = 0; i < 20; i++) {
        key->route = (int32_t)between(r, 0, key->op->n_routes - 1);
        if (!key->op->routes[key->route].composite) {
            return true;
        }
    }
    return false;
}

static int64_t random_value(run *r, const kiln_op_attr *attr)
{
    switch (attr->type) {
    case KILN_TYPE_BOOL:
        return between(r, 0, 1);
    case KILN_TYPE_STRING:
        return between(r, 0, attr->n_choices - 1);
    default:
        return between(r, -128, 127);
    }
}

static void random_sizes(run *r, kiln_key *key, int *positions)
{
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_ladder *ladder = &tables->ladders[key->op->axes[i].ladder];
        int64_t low;
        bool exact = ladder->n_census > 0 && roll(r) % 3 == 0;

        positions[i] =
            exact ? KILN_CENSUS_BIT | (int)between(r, 0, ladder->n_census - 1)
                  : (int)between(r, 0, ladder->n_edges - 1);
        kiln_ladder_range(ladder, positions[i], &low, &key->size[i]);
    }
}

static bool random_key(run *r, const kiln_arch *arch, kiln_key *key,
                       int *positions)
{
    memset(key, 0, sizeof *key);
    key->op = tables->ops[between(r, 0, tables->n_ops - 1)];
    if (!pick_variant(r, key)) {
        return false;
    }
    key->classes = arch->classes;
    if (key->op->space != KILN_SPACE_NONE) {
        key->layout = (uint8_t)between(r, 0, KILN_LAYOUT_COUNT - 1);
    }
    if (key->classes & KILN_CLASS_ALIGN) {
        key->align_log2 = roll(r) % 2 ? KILN_VECTOR_LOG2 : 0;
    }
    key->wide = (key->classes & KILN_CLASS_WIDE) != 0 && roll(r) % 2;
    for (int t = 0; t < key->op->n_tensors; t++) {
        if (key->op->tensors[t].keyed) {
            key->dtypes[t] =
                (uint8_t)between(r, KILN_BOOL, KILN_DTYPE_COUNT - 1);
        }
    }
    for (int a = 0; a < key->op->n_attrs; a++) {
        if (key->op->attrs[a].baked) {
            key->baked[a] = random_value(r, &key->op->attrs[a]);
        }
    }
    random_sizes(r, key, positions);
    return kiln_group_pack(key, &key->group);
}

static bool check_random(run *r)
{
    for (int i = 0; i < 100000; i++) {
        const kiln_arch *arch =
            &tables->archs[between(r, 0, tables->n_archs - 1)];
        char text[KILN_KEY_TEXT];
        int positions[KILN_MAX_AXES], back[KILN_MAX_AXES];
        kiln_key key, read;

        if (!random_key(r, arch, &key, positions)) {
            continue;
        }
        kiln_key_text(tables, &key, positions, text, sizeof text);
        if (!check_text(r, arch, text, &read, back)) {
            return false;
        }
        r->checked++;
        if (read.op != key.op || read.group != key.group ||
            memcmp(read.size, key.size, sizeof key.size) != 0 ||
            memcmp(read.dtypes, key.dtypes, sizeof key.dtypes) != 0 ||
            memcmp(read.baked, key.baked, sizeof key.baked) != 0) {
            return fail(r, text, "reads as another key");
        }
    }
    return r->checked > 1000;
}

int main(int argc, char **argv)
{
    run r = {.state = argc == 3 ? strtoull(argv[2], NULL, 10) : 0};
    int failed = 0;

    if (argc != 3) {
        fputs("usage: keys KEYS.tsv SEED\n", stderr);
        return 2;
    }
    report(&r, check_ladders(&r), "each size lies in one bucket of its ladder",
           &failed);
    report(&r, check_keys(&r, argv[1]),
           "certified keys read back and are found by sizes within", &failed);
    report(&r, check_random(&r), "random keys read back", &failed);
    return failed > 0;
}
