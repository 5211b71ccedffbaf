#include "lookup.h"

#include <string.h>

const kiln_op *kiln_find_op(const kiln_tables *tables, const char *name,
                            int *index)
{
    int low = 0;
    int high = tables->n_ops - 1;

    while (low <= high) {
        int middle = (low + high) / 2;
        int order = strcmp(tables->ops[middle]->name, name);

        if (order == 0) {
            *index = middle;
            return tables->ops[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle - 1;
        }
    }
    return NULL;
}

static const kiln_group *find_group(const kiln_op_keys *keys, uint64_t packed)
{
    int low = 0;
    int high = keys->n_groups - 1;

    while (low <= high) {
        int middle = (low + high) / 2;
        const kiln_group *group = &keys->groups[middle];

        if (group->packed == packed) {
            return group;
        }
        if (group->packed < packed) {
            low = middle + 1;
        } else {
            high = middle - 1;
        }
    }
    return NULL;
}

static bool in_run(const kiln_cell_run *run, uint64_t cell)
{
    return (run->first | KILN_CELL_AXIS0) == (cell | KILN_CELL_AXIS0) &&
           (cell & KILN_CELL_AXIS0) <= run->last;
}

/* The run that holds cell: only the last that begins at or before it can. */
static const kiln_cell_run *probe(const kiln_group *group, uint64_t cell)
{
    int low = 0;
    int high = group->n_runs;

    while (low < high) {
        int middle = (low + high) / 2;

        if (group->runs[middle].first <= cell) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && in_run(&group->runs[low - 1], cell)
               ? &group->runs[low - 1]
               : NULL;
}

void kiln_probes_start(kiln_probes *probes, const kiln_tables *tables,
                       const kiln_key *key)
{
    probes->n = key->op->n_axes;
    probes->choice = 1 << probes->n;
    (void)kiln_key_positions(tables, key, probes->lattice);
    for (int i = 0; i < probes->n; i++) {
        probes->census[i] = kiln_ladder_census(
            &tables->ladders[key->op->axes[i].ladder], key->size[i]);
    }
}

bool kiln_probes_next(kiln_probes *probes, int *positions)
{
    while (probes->choice-- > 0) {
        bool possible = true;

        for (int i = 0; i < probes->n; i++) {
            bool exact = probes->choice >> (probes->n - 1 - i) & 1;

            positions[i] = exact ? probes->census[i] | KILN_CENSUS_BIT
                                 : probes->lattice[i];
            possible =
                possible && (exact ? probes->census : probes->lattice)[i] >= 0;
        }
        if (possible) {
            return true;
        }
    }
    return false;
}

bool kiln_find_cell(const kiln_tables *tables, const kiln_op_keys *keys,
                    const kiln_key *key, kiln_found *found)
{
    int positions[KILN_MAX_AXES];
    kiln_probes probes;

    *found = (kiln_found){NULL, NULL, 0};
    if (keys == NULL || (found->group = find_group(keys, key->group)) == NULL) {
        return false;
    }
    kiln_probes_start(&probes, tables, key);
    while (found->run == NULL && kiln_probes_next(&probes, positions)) {
        found->cell = kiln_cell_pack(positions, probes.n);
        found->run = probe(found->group, found->cell);
    }
    return found->run != NULL;
}

const kiln_kernel *kiln_find_config(const kiln_op_keys *keys,
                                    const kiln_group *group, const char *config)
{
    for (int i = 0; i < group->n_configs; i++) {
        const kiln_kernel *kernel = &keys->kernels[group->configs[i]];

        if (strcmp(kernel->config, config) == 0) {
            return kernel;
        }
    }
    return NULL;
}

/* A certified key, and how far it is from one that is not. */
typedef struct candidate {
    const kiln_group *group; /* NULL: none */
    int positions[KILN_MAX_AXES];
    int64_t distance;
} candidate;

#define NEAREST 3
#define PART_WEIGHT 100000

/* Parts of packed group keys: 4 bits each, as kiln_group_pack lays them out.
 */
static int64_t group_distance(uint64_t a, uint64_t b)
{
    uint64_t differ = a ^ b;
    int64_t distance = 0;

    for (; differ != 0; differ >>= 4) {
        distance += (differ & 15) != 0;
    }
    return distance * PART_WEIGHT;
}

/* 16 a factor of two from a to b and in between by the straight line, rounded
 * up; 0 < a < b. */
static int64_t octaves(int64_t a, int64_t b)
{
    int64_t distance = 0;

    while (a <= b / 2) {
        distance += 16;
        a *= 2;
    }
    return distance + (b - a) / (a / 16 + 1) + 1;
}

int64_t kiln_key_distance(const kiln_tables *tables, const kiln_key *key,
                          uint64_t group, const int *positions)
{
    int64_t distance = group_distance(group, key->group);

    for (int i = 0; i < key->op->n_axes; i++) {
        int64_t low, high, v = key->size[i];

        kiln_ladder_range(&tables->ladders[key->op->axes[i].ladder],
                          positions[i], &low, &high);
        if (v > high) {
            distance += octaves(high, v);
        } else if (v <= low) {
            distance += octaves(v > 0 ? v : 1, low + 1);
        }
    }
    return distance;
}

/* As near goes by the tables' order of groups, then by positions, the first
 * axis most significant. */
static bool is_nearer(const candidate *a, const candidate *b, int n_axes)
{
    if (b->group == NULL || a->distance != b->distance) {
        return b->group == NULL || a->distance < b->distance;
    }
    for (int i = 0; a->group == b->group && i < n_axes; i++) {
        if (a->positions[i] != b->positions[i]) {
            return a->positions[i] < b->positions[i];
        }
    }
    return a->group < b->group;
}

static void keep_nearest(candidate *best, const candidate *next, int n_axes)
{
    int i = NEAREST;

    while (i > 0 && is_nearer(next, &best[i - 1], n_axes)) {
        if (i < NEAREST) {
            best[i] = best[i - 1];
        }
        i--;
    }
    if (i < NEAREST) {
        best[i] = *next;
    }
}

static void find_nearest_of(const kiln_tables *tables, const kiln_group *group,
                            const kiln_cell_run *run, const kiln_key *key,
                            candidate *best)
{
    int n_cells = run->last - (int)(run->first & KILN_CELL_AXIS0) + 1;

    for (int i = 0; i < n_cells; i++) {
        candidate next = {.group = group};

        kiln_cell_unpack(run->first + (uint64_t)i, key->op->n_axes,
                         next.positions);
        next.distance =
            kiln_key_distance(tables, key, group->packed, next.positions);
        keep_nearest(best, &next, key->op->n_axes);
    }
}

static void find_nearest(const kiln_tables *tables, const kiln_op_keys *keys,
                         const kiln_key *key, candidate *best)
{
    for (int g = 0; g < keys->n_groups; g++) {
        const kiln_group *group = &keys->groups[g];

        for (int r = 0; r < group->n_runs; r++) {
            if (!(group->runs[r].state & KILN_CELL_STALE)) {
                find_nearest_of(tables, group, &group->runs[r], key, best);
            }
        }
    }
}

static void append_nearest(const kiln_tables *tables, const kiln_key *key,
                           const candidate *near, kiln_error *err)
{
    kiln_fail_more(err, "%s", near->group->text);
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_axis *axis = &key->op->axes[i];
        int64_t low, high;

        kiln_ladder_range(&tables->ladders[axis->ladder], near->positions[i],
                          &low, &high);
        kiln_fail_more(err, " %s=%lld", axis->name, (long long)high);
    }
    kiln_fail_more(err, "\n");
}

kiln_status kiln_refuse(const kiln_tables *tables, const kiln_tier_table *tier,
                        const kiln_op_keys *keys, const kiln_key *key,
                        kiln_error *err)
{
    candidate best[NEAREST] = {{.group = NULL}};
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    (void)kiln_key_positions(tables, key, positions);
    kiln_key_text(tables, key, positions, text, sizeof text);
    kiln_fail(err, KILN_UNCERTIFIED,
              "op %s: no certificate for key\n  %s\non tier %s%s%s",
              key->op->name, text, tier->tier, tier->isa[0] != '\0' ? " " : "",
              tier->isa);
    if (keys != NULL) {
        find_nearest(tables, keys, key, best);
    }
    for (int i = 0; i < NEAREST && best[i].group != NULL; i++) {
        kiln_fail_more(err, i == 0 ? "; nearest certified:\n  " : "  ");
        append_nearest(tables, key, &best[i], err);
    }
    kiln_fail_more(err,
                   "%sto serve it: declare it in %s (lattice, key) or "
                   "spec/census, then: make certify TIER=%s OPS=%s",
                   best[0].group == NULL ? "; " : "", key->op->spec, tier->tier,
                   key->op->name);
    return err->status;
}
