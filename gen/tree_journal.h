/* tree_journal.h: the way of putting a change in place file by file, for
 * trees that cannot be exchanged. Beside the tree a journal holds all that is
 * to be done; only when it is whole on the disk is the tree touched.
 */
#ifndef KILN_GEN_TREE_JOURNAL_H
#define KILN_GEN_TREE_JOURNAL_H

#include <stdbool.h>

#include "tree_place.h"
#include "tree_plan.h"

/* Carries the plan out on a tree that exists. false: the sink has it; it
 * says so when the journal had to stay, for the next run to finish. */
bool tree_journal_commit(const tree_place *place, const tree_plan *plan);

/* Finishes what a whole journal says, removes one that is not whole. */
bool tree_journal_recover(const tree_place *place);

/* A journal stands beside the tree. */
bool tree_journal_exists(const tree_place *place);

#endif /* KILN_GEN_TREE_JOURNAL_H */
