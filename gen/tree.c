/* tree.c: what to do in which order; the two ways of doing it are in
 * tree_stage.c and tree_journal.c.
 */
#include "tree.h"

#include <assert.h>
#include <stdbool.h>

#include "tree_fs.h"
#include "tree_journal.h"
#include "tree_place.h"
#include "tree_plan.h"
#include "tree_stage.h"

/* Finishes or clears away what a killed run left. */
static bool recover(const tree_place *place)
{
    return tree_journal_recover(place) &&
           (tree_fs_remove(place->parent, place->staging) ||
            tree_place_error(place, NULL,
                             "remove what an earlier run left beside it"));
}

static bool differs(const tree_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (tree_entry_differs(&plan->entries[i])) {
            return true;
        }
    }
    return false;
}

/* The journal is of no use to a tree that does not exist yet. */
static bool put(const tree_place *place, const tree_plan *plan,
                bool use_journal)
{
    tree_staged staged = TREE_REFUSED;
    if (!use_journal || place->dir < 0) {
        staged = tree_stage_commit(place, plan);
    }
    if (staged == TREE_REFUSED) {
        return tree_journal_commit(place, plan);
    }
    return staged == TREE_STAGED;
}

/* Paths are checked before the disk is looked at. */
static bool plan_paths(tree_plan *plan, const tree_change *change,
                       struct diag *sink)
{
    tree_place nowhere = {.root = change->root, .sink = sink};
    return tree_plan_make(plan, change, &nowhere);
}

static enum tree_status commit(const tree_change *change, bool use_journal,
                               struct diag *sink)
{
    tree_plan plan;
    tree_place place;
    bool ok = false;
    assert(change != NULL && change->root != NULL);
    if (!plan_paths(&plan, change, sink)) {
        return TREE_IO;
    }
    if (tree_place_open(&place, change->root, true, sink)) {
        ok = recover(&place) && tree_plan_compare(&plan, &place);
        if (ok && differs(&plan)) {
            ok = tree_plan_check_room(&plan, &place) &&
                 put(&place, &plan, use_journal);
        }
        tree_place_close(&place);
    }
    tree_plan_free(&plan);
    return ok ? TREE_OK : TREE_IO;
}

enum tree_status tree_commit(const tree_change *change, struct diag *sink)
{
    return commit(change, false, sink);
}

enum tree_status tree_commit_journal(const tree_change *change,
                                     struct diag *sink)
{
    return commit(change, true, sink);
}

/* Absent removals are as wanted, so have no line. */
static const char *word_of(tree_state state)
{
    switch (state) {
    case TREE_CHANGED:
        return "changed";
    case TREE_MISSING:
        return "missing";
    case TREE_EXTRA:
        return "extra";
    case TREE_SAME:
    case TREE_GONE:
        break;
    }
    return NULL;
}

static enum tree_status write_report(const tree_plan *plan,
                                     const tree_place *place, FILE *report)
{
    enum tree_status status = TREE_OK;
    if (tree_journal_exists(place)) {
        fprintf(report, "unfinished %s\n", place->root);
        status = TREE_DIFFERENT;
    }
    for (size_t i = 0; i < plan->n; i++) {
        const char *word = word_of(plan->entries[i].state);
        if (word != NULL) {
            fprintf(report, "%s %s\n", word, plan->entries[i].path);
            status = TREE_DIFFERENT;
        }
    }
    if (ferror(report)) {
        tree_place_error(place, NULL, "report on it");
        return TREE_IO;
    }
    return status;
}

enum tree_status tree_check(const tree_change *change, FILE *report,
                            struct diag *sink)
{
    tree_plan plan;
    tree_place place;
    enum tree_status status = TREE_IO;
    assert(change != NULL && change->root != NULL && report != NULL);
    if (!plan_paths(&plan, change, sink)) {
        return TREE_IO;
    }
    if (tree_place_open(&place, change->root, false, sink)) {
        if (tree_plan_compare(&plan, &place)) {
            status = write_report(&plan, &place, report);
        }
        tree_place_close(&place);
    }
    tree_plan_free(&plan);
    return status;
}
