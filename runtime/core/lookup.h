/* lookup.h: from a key to its certified cell, and the nearest when none. */
#ifndef KILN_CORE_LOOKUP_H
#define KILN_CORE_LOOKUP_H

#include "error.h"
#include "key.h"

typedef struct kiln_found {
    const kiln_group *group;
    const kiln_cell_run *run;
    uint64_t cell; /* the run's cell that was asked for, packed */
} kiln_found;

const kiln_op *kiln_find_op(const kiln_tables *tables, const char *name,
                            int *index);
/* The positions at which a key is looked up, in order: each axis's census cell
 * before its lattice bucket, the first axis most significant. */
typedef struct kiln_probes {
    int n;
    int choice; /* bit n-1-i: axis i's census cell */
    int lattice[KILN_MAX_AXES];
    int census[KILN_MAX_AXES];
} kiln_probes;

void kiln_probes_start(kiln_probes *probes, const kiln_tables *tables,
                       const kiln_key *key);
/* Fills positions, one an axis; false when there are no more. */
bool kiln_probes_next(kiln_probes *probes, int *positions);

/* How unlike a key is to the one at positions of a packed group: parts that
 * differ weigh more than sizes, and a size counts by the factors of two that
 * lie between. */
int64_t kiln_key_distance(const kiln_tables *tables, const kiln_key *key,
                          uint64_t group, const int *positions);

/* Census cells are probed before the lattice, axes in key order. false: no
 * certificate; found holds what was reached. */
bool kiln_find_cell(const kiln_tables *tables, const kiln_op_keys *keys,
                    const kiln_key *key, kiln_found *found);
/* The group's kernel with that config text, or NULL. */
const kiln_kernel *kiln_find_config(const kiln_op_keys *keys,
                                    const kiln_group *group,
                                    const char *config);
/* Writes the refusal of key: key text, up to 3 nearest certified keys of the
 * op, the spec line to edit and the command that certifies. */
kiln_status kiln_refuse(const kiln_tables *tables, const kiln_tier_table *tier,
                        const kiln_op_keys *keys, const kiln_key *key,
                        kiln_error *err);

#endif /* KILN_CORE_LOOKUP_H */
