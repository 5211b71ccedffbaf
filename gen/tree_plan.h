/* tree_plan.h: a change against what stands on the disk. */
#ifndef KILN_GEN_TREE_PLAN_H
#define KILN_GEN_TREE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "tree.h"
#include "tree_place.h"

typedef enum tree_state {
    TREE_SAME,    /* a file that has its bytes */
    TREE_CHANGED, /* something else stands there */
    TREE_MISSING, /* nothing stands there */
    TREE_EXTRA,   /* to be removed */
    TREE_GONE     /* to be removed, but absent */
} tree_state;

typedef struct tree_entry {
    const char *path;
    const char *text;
    size_t n;
    bool remove;
    tree_state state;
} tree_entry;

/* Sorted by the bytes of path; strings stay the change's. */
typedef struct tree_plan {
    tree_entry *entries;
    size_t n;
} tree_plan;

/* Checks and sorts the paths. Every file's state is missing and every
 * removal's extra until tree_plan_compare. false: the sink has it and
 * nothing is held. */
bool tree_plan_make(tree_plan *plan, const tree_change *change,
                    const tree_place *place);
void tree_plan_free(tree_plan *plan);

/* Sets the states. */
bool tree_plan_compare(tree_plan *plan, const tree_place *place);
/* After compare: whether foreign things or permissions stand in the way of
 * the change. */
bool tree_plan_check_room(const tree_plan *plan, const tree_place *place);

/* The entry differs from the disk. */
bool tree_entry_differs(const tree_entry *entry);
/* The entry's file is to be written. */
bool tree_entry_written(const tree_entry *entry);
/* NULL when path is not in the plan. */
const tree_entry *tree_plan_find(const tree_plan *plan, const char *path);
/* Removes the directories that hold `path` in the tree, from below, as long
 * as they are empty and no file of the plan belongs there. */
bool tree_plan_prune(const tree_plan *plan, int root, const char *path);

#endif /* KILN_GEN_TREE_PLAN_H */
