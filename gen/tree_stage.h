/* tree_stage.h: the way of putting a change in place by exchanging whole
 * trees.
 */
#ifndef KILN_GEN_TREE_STAGE_H
#define KILN_GEN_TREE_STAGE_H

#include "tree_place.h"
#include "tree_plan.h"

typedef enum tree_staged {
    TREE_STAGED,  /* the new tree is in place, the old one is gone */
    TREE_REFUSED, /* this file system or tree does not allow it; nothing was
                     done and nothing is in the sink */
    TREE_FAILED   /* the sink has it */
} tree_staged;

/* Builds the tree that the plan wants under place->staging, exchanges the two
 * and removes the old one. A tree that is missing is made. */
tree_staged tree_stage_commit(const tree_place *place, const tree_plan *plan);

#endif /* KILN_GEN_TREE_STAGE_H */
