/* tree_record.h: what a journal holds, as bytes that tell whether they are
 * whole.
 */
#ifndef KILN_GEN_TREE_RECORD_H
#define KILN_GEN_TREE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "tree.h"
#include "tree_plan.h"

/* Lists of a change, pointing into the bytes they were read from. */
typedef struct tree_record {
    tree_file *files;
    const char **remove;
    size_t n_files;
    size_t n_remove;
} tree_record;

/* The entries of the plan that differ; malloc'd, *n bytes. NULL: out of
 * memory. */
char *tree_record_write(const tree_plan *plan, size_t *n);
/* The bytes begin and end as written, with the right checksum. */
bool tree_record_is_whole(const char *bytes, size_t n);
/* Reads whole bytes, ending their paths with NULs. false: out of memory, or
 * not written by us; nothing is held. */
bool tree_record_read(tree_record *record, char *bytes, size_t n);
void tree_record_free(tree_record *record);

#endif /* KILN_GEN_TREE_RECORD_H */
