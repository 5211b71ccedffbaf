#include "key.h"

#include <stdio.h>
#include <string.h>

#include "space.h"

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

/* Appends to text of which *used bytes are taken; cuts at cap. */
static void append(char *text, size_t cap, size_t *used, const char *piece)
{
    size_t n = strlen(piece);

    if (*used + 1 >= cap) {
        return;
    }
    if (n > cap - 1 - *used) {
        n = cap - 1 - *used;
    }
    memcpy(text + *used, piece, n);
    *used += n;
    text[*used] = '\0';
}

static void append_dtypes(char *text, size_t cap, size_t *used,
                          const kiln_key *key)
{
    const kiln_op *op = key->op;
    int first = -1;
    bool same = true;

    for (int t = 0; t < op->n_tensors; t++) {
        if (!op->tensors[t].keyed) {
            continue;
        }
        first = first < 0 ? t : first;
        same = same && key->dtypes[t] == key->dtypes[first];
    }
    for (int t = 0; t < op->n_tensors; t++) {
        if (!op->tensors[t].keyed || (same && t != first)) {
            continue;
        }
        append(text, cap, used, t == first ? " " : "_");
        append(text, cap, used, kiln_dtype_name(key->dtypes[t]));
    }
}

static void append_baked(char *text, size_t cap, size_t *used,
                         const kiln_key *key)
{
    for (int a = 0; a < key->op->n_attrs; a++) {
        const kiln_op_attr *attr = &key->op->attrs[a];
        char number[32];
        const char *value = number;

        if (!attr->baked) {
            continue;
        }
        (void)snprintf(number, sizeof number, "%lld", (long long)key->baked[a]);
        if (attr->type == KILN_TYPE_STRING && key->baked[a] >= 0 &&
            key->baked[a] < attr->n_choices) {
            value = attr->choices[key->baked[a]];
        }
        append(text, cap, used, " ");
        append(text, cap, used, attr->name);
        append(text, cap, used, "=");
        append(text, cap, used, value);
    }
}

void kiln_group_text(const kiln_key *key, char *text, size_t cap)
{
    size_t used = 0;
    char number[32];

    text[0] = '\0';
    append(text, cap, &used, key->op->name);
    append(text, cap, &used, "/");
    append(text, cap, &used, key->op->routes[key->route].name);
    append_dtypes(text, cap, &used, key);
    append_baked(text, cap, &used, key);
    if (key->op->space != KILN_SPACE_NONE) {
        append(text, cap, &used, " ");
        append(text, cap, &used, kiln_layout_name(key->layout));
    }
    if (key->classes & KILN_CLASS_ALIGN) {
        (void)snprintf(number, sizeof number, " align%d", 1 << key->align_log2);
        append(text, cap, &used, number);
    }
    if (key->classes & KILN_CLASS_WIDE) {
        append(text, cap, &used, key->wide ? " o64" : " o32");
    }
}

void kiln_key_text(const kiln_tables *tables, const kiln_key *key,
                   const int *positions, char *text, size_t cap)
{
    size_t used;

    kiln_group_text(key, text, cap);
    used = strlen(text);
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_axis *axis = &key->op->axes[i];
        char number[80];
        int64_t low, high;

        if (positions[i] < 0) {
            (void)snprintf(number, sizeof number, " %.40s=%s%lld", axis->name,
                           key->size[i] > 0 ? ">" : "",
                           (long long)key->size[i]);
        } else {
            kiln_ladder_range(&tables->ladders[axis->ladder], positions[i],
                              &low, &high);
            (void)snprintf(number, sizeof number, " %.40s=%lld", axis->name,
                           (long long)high);
        }
        append(text, cap, &used, number);
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

    for (int i = 0; i < KILN_MAX_AXES; i++) {
        packed = packed << 16 | (uint64_t)(i < n ? positions[i] : 0);
    }
    return packed;
}

void kiln_cell_unpack(uint64_t packed, int n, int *positions)
{
    for (int i = 0; i < n; i++) {
        positions[i] = (int)(packed >> (48 - 16 * i) & 0xffff);
    }
}
