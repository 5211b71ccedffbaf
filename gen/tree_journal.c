/* tree_journal.c. New texts are first written to a folder of their own in the
 * tree, named as the staging tree beside it would be, so that a full disk is
 * met before any file is replaced. Every step can be done again from the start.
 */
#define _GNU_SOURCE
#include "tree_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fs.h"
#include "tree_record.h"

/* --- writing -------------------------------------------------------------- */

static bool drop_journal(const tree_place *place)
{
    return (tree_fs_remove(place->parent, place->journal) &&
            tree_fs_flush(place->parent)) ||
           tree_place_error(place, NULL, "remove the journal beside it");
}

static bool write_journal(const tree_place *place, const tree_plan *plan)
{
    size_t n;
    char *bytes = tree_record_write(plan, &n);
    if (bytes == NULL) {
        errno = ENOMEM;
        return tree_place_error(place, NULL, "write a journal beside it");
    }
    bool ok = tree_fs_write(place->parent, place->journal, bytes, n, NULL) &&
              tree_fs_flush(place->parent);
    if (!ok) {
        tree_place_error(place, NULL, "write a journal beside it");
        drop_journal(place);
    }
    free(bytes);
    return ok;
}

/* --- carrying out --------------------------------------------------------- */

/* The folder of new texts, inside the tree. */
static bool drop_scratch(const tree_place *place)
{
    return tree_fs_remove(place->dir, place->staging) ||
           tree_place_error(place, place->staging, "remove");
}

static int make_scratch(const tree_place *place)
{
    if (!drop_scratch(place)) {
        return -1;
    }
    int fd = mkdirat(place->dir, place->staging, 0700) == 0
                 ? tree_fs_open_dir(place->dir, place->staging)
                 : -1;
    if (fd < 0) {
        tree_place_error(place, place->staging, "create");
        drop_scratch(place);
    }
    return fd;
}

static void name_of(size_t i, char name[32])
{
    snprintf(name, 32, "%zu", i);
}

/* The mode of a regular file at entry's path is the new one's too. */
static bool write_scratch(const tree_place *place, int scratch,
                          const tree_entry *entry, size_t i)
{
    char name[32];
    struct stat st;
    int old = tree_fs_stat_file(place->dir, entry->path, &st);
    if (old < 0) {
        return tree_place_error(place, entry->path, "read");
    }
    name_of(i, name);
    return tree_fs_write(scratch, name, entry->text, entry->n,
                         old > 0 ? &st : NULL) ||
           tree_place_error(place, entry->path, "write");
}

static bool write_all_scratch(const tree_place *place, const tree_plan *plan,
                              int scratch)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (tree_entry_written(&plan->entries[i]) &&
            !write_scratch(place, scratch, &plan->entries[i], i)) {
            return false;
        }
    }
    return tree_fs_flush(scratch) || tree_place_error(place, NULL, "flush");
}

static bool remove_entry(const tree_place *place, const tree_plan *plan,
                         const tree_entry *entry)
{
    tree_spot spot;
    struct stat st;
    if (!tree_fs_walk(place->dir, entry->path, &spot)) {
        return tree_place_error(place, entry->path, "remove");
    }
    bool there = spot.reached &&
                 fstatat(spot.dir, spot.rest, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool ok =
        !there || S_ISDIR(st.st_mode) || unlinkat(spot.dir, spot.rest, 0) == 0;
    int saved = errno;
    close(spot.dir);
    errno = saved;
    ok = ok && tree_plan_prune(plan, place->dir, entry->path);
    return ok || tree_place_error(place, entry->path, "remove");
}

static bool place_entry(const tree_place *place, int scratch,
                        const tree_entry *entry, size_t i)
{
    char name[32];
    const char *base;
    name_of(i, name);
    int dir = tree_fs_make_parents(place->dir, entry->path, &base);
    if (dir < 0) {
        return tree_place_error(place, entry->path, "create");
    }
    bool ok = renameat(scratch, name, dir, base) == 0 ||
              tree_place_error(place, entry->path, "put in place");
    close(dir);
    return ok;
}

/* Removals first: a file may stand where a directory was, and the reverse. */
static bool replace_all(const tree_place *place, const tree_plan *plan,
                        int scratch)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->entries[i].state == TREE_EXTRA &&
            !remove_entry(place, plan, &plan->entries[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->n; i++) {
        if (tree_entry_written(&plan->entries[i]) &&
            !place_entry(place, scratch, &plan->entries[i], i)) {
            return false;
        }
    }
    return true;
}

static bool left_unfinished(const tree_place *place)
{
    char why[512];
    snprintf(why, sizeof why,
             "is unfinished; the next run finishes it from the journal (%s "
             "beside it), or remove that to give it up",
             place->journal);
    return tree_place_refuse(place, NULL, why);
}

/* *untouched: no file of the tree was replaced. */
static bool carry_out(const tree_place *place, const tree_plan *plan,
                      bool *untouched)
{
    int scratch = make_scratch(place);
    *untouched = true;
    if (scratch < 0) {
        return false;
    }
    bool ok = write_all_scratch(place, plan, scratch);
    if (ok) {
        *untouched = false;
        ok = replace_all(place, plan, scratch);
    }
    close(scratch);
    ok = drop_scratch(place) && ok;
    if (ok && !tree_fs_flush(place->dir)) {
        ok = tree_place_error(place, NULL, "flush");
    }
    return ok;
}

bool tree_journal_commit(const tree_place *place, const tree_plan *plan)
{
    bool untouched;
    if (!write_journal(place, plan)) {
        return false;
    }
    if (carry_out(place, plan, &untouched)) {
        return drop_journal(place);
    }
    if (untouched) {
        drop_journal(place);
        return false;
    }
    return left_unfinished(place);
}

/* --- reading -------------------------------------------------------------- */

bool tree_journal_exists(const tree_place *place)
{
    struct stat st;
    return place->parent >= 0 && fstatat(place->parent, place->journal, &st,
                                         AT_SYMLINK_NOFOLLOW) == 0;
}

/* Reads n bytes, or less when the file is shorter. */
static bool read_bytes(int fd, char *bytes, size_t *n)
{
    size_t size = *n;
    *n = 0;
    while (*n < size) {
        ssize_t got = read(fd, bytes + *n, size - *n);
        if (got < 0 && errno != EINTR) {
            return false;
        }
        if (got == 0) {
            break;
        }
        *n += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* malloc'd; NULL: errno says why. */
static char *read_journal(const tree_place *place, size_t *n)
{
    char *bytes = NULL;
    struct stat st;
    int fd = openat(place->parent, place->journal,
                    O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        *n = (size_t)st.st_size;
        bytes = malloc(*n + 1);
    }
    if (bytes != NULL && !read_bytes(fd, bytes, n)) {
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return bytes;
}

static bool finish(const tree_place *place, char *bytes, size_t n)
{
    tree_record record;
    tree_plan plan;
    bool untouched;
    bool ok = false;
    if (tree_record_read(&record, bytes, n)) {
        tree_change change = {place->root, record.files, record.n_files,
                              record.remove, record.n_remove};
        if (tree_plan_make(&plan, &change, place)) {
            ok = carry_out(place, &plan, &untouched);
            tree_plan_free(&plan);
        }
        tree_record_free(&record);
    }
    return ok || left_unfinished(place);
}

bool tree_journal_recover(const tree_place *place)
{
    size_t n;
    if (!tree_journal_exists(place)) {
        return true;
    }
    char *bytes = read_journal(place, &n);
    if (bytes == NULL) {
        return tree_place_error(place, NULL, "read the journal beside it");
    }
    /* A tree that was removed since has nothing to finish. */
    bool ok = place->dir < 0 || !tree_record_is_whole(bytes, n) ||
              finish(place, bytes, n);
    free(bytes);
    return ok && drop_journal(place);
}
