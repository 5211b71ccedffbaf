/* tree_place.h: where a tree stands: its real directory, the directory that
 * holds it, locked, and the names of ours beside it.
 */
#ifndef KILN_GEN_TREE_PLACE_H
#define KILN_GEN_TREE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "diag.h"

typedef struct tree_place {
    const char *root; /* as the user wrote it, for messages */
    struct diag *sink;
    int parent;    /* locked; -1: missing */
    int dir;       /* the tree; -1: missing */
    char *name;    /* in parent */
    char *staging; /* ".NAME.new" */
    char *journal; /* ".NAME.journal" */
    char *made;    /* path of the parent, when parts of it were made */
    size_t n_made; /* length of the first part that was made */
} tree_place;

/* Resolves root, locks the directory that holds it and opens both. `change`:
 * to write, so missing parents are made; else the lock is a shared one and
 * parents may be missing. false: the sink has it and nothing is held. */
bool tree_place_open(tree_place *place, const char *root, bool change,
                     struct diag *sink);
/* Unlocks and frees. Parents that were made go again if they are empty. */
void tree_place_close(tree_place *place);
/* Adds "ROOT/path: cannot WHAT: text of errno" to the sink; path may be NULL.
 * Returns false. */
bool tree_place_error(const tree_place *place, const char *path,
                      const char *what);
/* The same with words of its own and no errno. */
bool tree_place_refuse(const tree_place *place, const char *path,
                       const char *why);

#endif /* KILN_GEN_TREE_PLACE_H */
