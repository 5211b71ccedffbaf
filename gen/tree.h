/* tree.h: puts a set of generated files in place, all or none.
 *
 * The tree is a directory that may hold foreign files too; those are kept as
 * they are. While a call works, nobody else may write to the tree; calls for
 * one tree wait for each other (flock on the directory that holds it).
 *
 * A kill or a full disk at any moment leaves the old tree or the new one,
 * never a mixture: `.NAME.new` beside the tree NAME is built whole and the
 * two names are exchanged. Where that cannot be done (mounts, overlayfs,
 * links refused), `.NAME.journal` beside the tree first holds all that is to
 * be done; a kill may then leave a mixture, and the next tree_commit finishes
 * it. Each tree_commit removes what a killed one left.
 */
#ifndef KILN_GEN_TREE_H
#define KILN_GEN_TREE_H

#include <stddef.h>
#include <stdio.h>

#include "diag.h"

/* One file that the tree shall hold. path is relative to the root, its parts
 * joined by single slashes, without "." and "..". */
typedef struct tree_file {
    const char *path;
    const char *text; /* n bytes; may be NULL when n is 0 */
    size_t n;
} tree_file;

/* Paths in `remove` are files of ours that are no longer emitted; absent ones
 * are passed over. No path is listed twice, in both lists together. */
typedef struct tree_change {
    const char *root; /* may be a link to the tree; need not exist */
    const tree_file *files;
    size_t n_files;
    const char *const *remove;
    size_t n_remove;
} tree_change;

enum tree_status {
    TREE_OK,
    TREE_DIFFERENT, /* of tree_check only */
    TREE_IO         /* sink says what failed and where */
};

/* Makes the tree hold `files` and not `remove`, nor directories that become
 * empty by that. Files with the right bytes keep their times; when all have
 * them, nothing is touched. Changed files keep their modes, new ones get 0644
 * and new directories 0755, both less the umask. TREE_IO: the tree is as it
 * was and nothing is left beside it, unless the message says otherwise. */
enum tree_status tree_commit(const tree_change *change, struct diag *sink);

/* As tree_commit, as if no names could be exchanged. For tests. */
enum tree_status tree_commit_journal(const tree_change *change,
                                     struct diag *sink);

/* Writes nothing but one line a difference to `report`: `changed PATH`,
 * `missing PATH`, `extra PATH`, sorted by path; before them `unfinished ROOT`
 * when a killed tree_commit is to be finished by the next. */
enum tree_status tree_check(const tree_change *change, FILE *report,
                            struct diag *sink);

#endif /* KILN_GEN_TREE_H */
