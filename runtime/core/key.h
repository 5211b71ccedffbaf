/* key.h: launch keys: packed for the look-up, as text for people. */
#ifndef KILN_CORE_KEY_H
#define KILN_CORE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

typedef struct kiln_key {
    const kiln_op *op;
    int32_t route; /* index of the variant's route */
    uint8_t layout;
    uint8_t align_log2;
    bool wide;
    uint8_t classes;                  /* which of the last two it holds */
    uint8_t dtypes[KILN_MAX_TENSORS]; /* of all tensors */
    int64_t baked[KILN_MAX_ATTRS];    /* of baked attributes, else 0 */
    int64_t size[KILN_MAX_AXES];
    uint64_t group; /* kiln_group_pack of the fields above but size */
} kiln_key;

/* What a packed group has room for; lua/bounds.lua refuses specs past it. */
#define KILN_KEY_ROUTES 16
#define KILN_KEY_DTYPES 6
#define KILN_KEY_BAKED_BITS 20 /* bool: 1, string: 4, int: 8 */

/* Room for any key's text: names and choices have 40 bytes at most. */
#define KILN_KEY_TEXT 1024

/* All of a key but its sizes in 64 bits, 4 bits a part where one can: keys of
 * one op pack alike only when they are equal. false when a baked value does
 * not fit (bool: 1 bit, string: 4, int: 8 signed; 20 bits in all), with more
 * than 16 routes or 6 keyed tensors. */
bool kiln_group_pack(const kiln_key *key, uint64_t *packed);

/* The bucket of v: index on the lattice, or -1 below 1 and beyond its largest
 * edge. */
int kiln_ladder_bucket(const kiln_ladder *ladder, int64_t v);
/* The census cell that holds v exactly, or -1. */
int kiln_ladder_census(const kiln_ladder *ladder, int64_t v);
/* Sizes of position p (see KILN_CENSUS_BIT): low < v <= high. */
void kiln_ladder_range(const kiln_ladder *ladder, int p, int64_t *low,
                       int64_t *high);

/* Keyed tensors' dtypes, "f16" when all are alike, else "f16_f32". */
void kiln_key_dtypes(const kiln_key *key, char *text, size_t cap);
/* "softmax/looped f16 log=0 contiguous": a key's text without its sizes. */
void kiln_group_text(const kiln_key *key, char *text, size_t cap);
/* The whole text; positions[i] is axis i's position. */
void kiln_key_text(const kiln_tables *tables, const kiln_key *key,
                   const int *positions, char *text, size_t cap);
/* What each position covers: "M=1..64 N=17..64"; none is below 0. */
void kiln_key_ranges(const kiln_tables *tables, const kiln_key *key,
                     const int *positions, char *text, size_t cap);
/* Reads what kiln_key_text writes, words parted by any number of blanks; a
 * size that is no position's upper edge gets position -1. On failure false,
 * and why says what was expected. */
bool kiln_key_parse(const kiln_tables *tables, const kiln_arch *arch,
                    const char *text, kiln_key *key, int *positions, char *why,
                    size_t cap);
/* The lattice positions of a key's sizes; false when an axis is off its
 * ladder (then positions[i] is -1 there, and the key's text has "N=>70000",
 * or "N=0" for a size below 1). */
bool kiln_key_positions(const kiln_tables *tables, const kiln_key *key,
                        int *positions);
uint64_t kiln_cell_pack(const int *positions, int n);
void kiln_cell_unpack(uint64_t packed, int n, int *positions);

#endif /* KILN_CORE_KEY_H */
