#include "key.h"

#define DTYPE_BITS 4
#define CLASS_BITS 2
#define LAYOUT_BITS 2
#define ALIGN_BITS 3

static int baked_width(const kiln_op_attr *attr)
{
    switch (attr->type) {
    case KILN_TYPE_BOOL:
        return 1;
    case KILN_TYPE_STRING:
        return 4;
    default:
        return 8;
    }
}

static bool pack_baked(const kiln_key *key, uint64_t *packed)
{
    const kiln_op *op = key->op;
    uint64_t bits = 0;
    int used = 0;

    for (int a = 0; a < op->n_attrs; a++) {
        int width = baked_width(&op->attrs[a]);
        int64_t least = op->attrs[a].type == KILN_TYPE_INT ? -128 : 0;
        int64_t value = key->baked[a];

        if (!op->attrs[a].baked) {
            continue;
        }
        if (value < least || value >= least + ((int64_t)1 << width) ||
            (used += width) > KILN_KEY_BAKED_BITS) {
            return false;
        }
        bits = bits << width | (uint64_t)(value - least);
    }
    *packed = *packed << KILN_KEY_BAKED_BITS | bits;
    return true;
}

bool kiln_group_pack(const kiln_key *key, uint64_t *packed)
{
    const kiln_op *op = key->op;
    uint64_t dtypes = 0;
    int keyed = 0;

    for (int t = 0; t < op->n_tensors; t++) {
        if (op->tensors[t].keyed) {
            dtypes = dtypes << DTYPE_BITS | key->dtypes[t];
            keyed++;
        }
    }
    if (keyed > KILN_KEY_DTYPES || key->route >= KILN_KEY_ROUTES) {
        return false;
    }
    *packed = (uint64_t)key->route << (KILN_KEY_DTYPES * DTYPE_BITS) | dtypes;
    if (!pack_baked(key, packed)) {
        return false;
    }
    *packed = *packed << CLASS_BITS | key->classes;
    *packed = *packed << LAYOUT_BITS | key->layout;
    *packed <<= ALIGN_BITS + 1;
    if (key->classes & KILN_CLASS_ALIGN) {
        *packed |= (uint64_t)key->align_log2 << 1;
    }
    if ((key->classes & KILN_CLASS_WIDE) && key->wide) {
        *packed |= 1;
    }
    return true;
}

int kiln_ladder_bucket(const kiln_ladder *ladder, int64_t v)
{
    int low = 0;
    int high = ladder->n_edges;

    if (v < 1) {
        return -1;
    }
    while (low < high) {
        int middle = (low + high) / 2;

        if (ladder->edges[middle] < v) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < ladder->n_edges ? low : -1;
}

int kiln_ladder_census(const kiln_ladder *ladder, int64_t v)
{
    int low = 0;
    int high = ladder->n_census;

    while (low < high) {
        int middle = (low + high) / 2;

        if (ladder->census[middle] < v) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < ladder->n_census && ladder->census[low] == v ? low : -1;
}

void kiln_ladder_range(const kiln_ladder *ladder, int p, int64_t *low,
                       int64_t *high)
{
    if (p & KILN_CENSUS_BIT) {
        *high = ladder->census[p & ~KILN_CENSUS_BIT];
        *low = *high - 1;
    } else {
        *high = ladder->edges[p];
        *low = p > 0 ? ladder->edges[p - 1] : 0;
    }
}

bool kiln_key_positions(const kiln_tables *tables, const kiln_key *key,
                        int *positions)
{
    bool found = true;

    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_axis *axis = &key->op->axes[i];

        positions[i] =
            kiln_ladder_bucket(&tables->ladders[axis->ladder], key->size[i]);
        found = found && positions[i] >= 0;
    }
    return found;
}

uint64_t kiln_cell_pack(const int *positions, int n)
{
    uint64_t packed = 0;

    for (int i = 0; i < n; i++) {
        packed |= (uint64_t)positions[i] << 16 * i;
    }
    return packed;
}

void kiln_cell_unpack(uint64_t packed, int n, int *positions)
{
    for (int i = 0; i < n; i++) {
        positions[i] = (int)(packed >> 16 * i & 0xffff);
    }
}
