#define _GNU_SOURCE /* asprintf */
#include "tree_plan.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fs.h"

bool tree_entry_differs(const tree_entry *entry)
{
    return entry->state != TREE_SAME && entry->state != TREE_GONE;
}

bool tree_entry_written(const tree_entry *entry)
{
    return entry->state == TREE_CHANGED || entry->state == TREE_MISSING;
}

/* --- making --------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    const tree_entry *x = a;
    const tree_entry *y = b;
    return strcmp(x->path, y->path);
}

/* The first entry that does not sort before path[0 .. n) and a slash. */
static size_t first_below(const tree_plan *plan, const char *path, size_t n)
{
    size_t low = 0;
    size_t high = plan->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const char *at = plan->entries[mid].path;
        int order = strncmp(at, path, n);
        if (order < 0 || (order == 0 && (unsigned char)at[n] < '/')) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static bool is_below(const char *path, const char *dir, size_t n)
{
    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* A file of the plan that belongs under the directory path[0 .. n). */
static const tree_entry *file_below(const tree_plan *plan, const char *path,
                                    size_t n)
{
    for (size_t i = first_below(plan, path, n);
         i < plan->n && is_below(plan->entries[i].path, path, n); i++) {
        if (!plan->entries[i].remove) {
            return &plan->entries[i];
        }
    }
    return NULL;
}

/* The parts of a path are neither empty nor "." nor "..". */
static bool is_plain(const char *path)
{
    for (;;) {
        size_t n = strcspn(path, "/");
        if (n == 0 || (n == 1 && path[0] == '.') ||
            (n == 2 && path[0] == '.' && path[1] == '.')) {
            return false;
        }
        if (path[n] == '\0') {
            return true;
        }
        path += n + 1;
    }
}

static bool check_paths(const tree_plan *plan, const tree_place *place)
{
    bool ok = true;
    for (size_t i = 0; i < plan->n; i++) {
        const tree_entry *e = &plan->entries[i];
        if (!is_plain(e->path)) {
            ok = tree_place_refuse(place, e->path,
                                   "is no path below the output tree: it has "
                                   "an empty, \".\" or \"..\" part");
        } else if (i > 0 && strcmp(e[-1].path, e->path) == 0) {
            ok = tree_place_refuse(place, e->path, "is listed twice");
        } else if (!e->remove &&
                   file_below(plan, e->path, strlen(e->path)) != NULL) {
            ok = tree_place_refuse(place, e->path,
                                   "is listed as a file and as a directory");
        }
    }
    return ok;
}

bool tree_plan_make(tree_plan *plan, const tree_change *change,
                    const tree_place *place)
{
    *plan = (tree_plan){.n = change->n_files + change->n_remove};
    plan->entries = calloc(plan->n + 1, sizeof *plan->entries);
    if (plan->entries == NULL) {
        return tree_place_error(place, NULL, "plan its change");
    }
    for (size_t i = 0; i < change->n_files; i++) {
        const tree_file *file = &change->files[i];
        assert(file->path != NULL && (file->text != NULL || file->n == 0));
        plan->entries[i] = (tree_entry){.path = file->path,
                                        .text = file->text,
                                        .n = file->n,
                                        .state = TREE_MISSING};
    }
    for (size_t i = 0; i < change->n_remove; i++) {
        assert(change->remove[i] != NULL);
        plan->entries[change->n_files + i] = (tree_entry){
            .path = change->remove[i], .remove = true, .state = TREE_EXTRA};
    }
    qsort(plan->entries, plan->n, sizeof *plan->entries, by_path);
    if (!check_paths(plan, place)) {
        tree_plan_free(plan);
        return false;
    }
    return true;
}

void tree_plan_free(tree_plan *plan)
{
    free(plan->entries);
    *plan = (tree_plan){0};
}

const tree_entry *tree_plan_find(const tree_plan *plan, const char *path)
{
    tree_entry key = {.path = path};
    if (plan->n == 0) {
        return NULL;
    }
    return bsearch(&key, plan->entries, plan->n, sizeof key, by_path);
}

/* --- comparing ------------------------------------------------------------ */

/* false: errno says why. */
static bool compare_entry(tree_entry *entry, int root)
{
    tree_spot spot;
    struct stat st;
    entry->state = entry->remove ? TREE_GONE : TREE_MISSING;
    if (!tree_fs_walk(root, entry->path, &spot)) {
        return false;
    }
    bool there = spot.reached &&
                 fstatat(spot.dir, spot.rest, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int failure = spot.reached && !there && errno != ENOENT ? errno : 0;
    if (there && entry->remove && !S_ISDIR(st.st_mode)) {
        entry->state = TREE_EXTRA;
    }
    if (there && !entry->remove) {
        int same = tree_fs_same(spot.dir, spot.rest, entry->text, entry->n);
        failure = same < 0 ? errno : 0;
        entry->state = same > 0 ? TREE_SAME : TREE_CHANGED;
    }
    close(spot.dir);
    errno = failure;
    return failure == 0;
}

bool tree_plan_compare(tree_plan *plan, const tree_place *place)
{
    bool ok = true;
    for (size_t i = 0; i < plan->n; i++) {
        tree_entry *entry = &plan->entries[i];
        if (place->dir < 0) {
            entry->state = entry->remove ? TREE_GONE : TREE_MISSING;
        } else if (!compare_entry(entry, place->dir)) {
            ok = tree_place_error(place, entry->path, "read");
        }
    }
    return ok;
}

/* --- room ----------------------------------------------------------------- */

typedef struct room {
    const tree_plan *plan;
    const tree_place *place;
    uint64_t mount;
} room;

static bool all_removed(const room *r, int dir, const char *path);

/* Entry `name` of the directory at `path` goes with the removals. */
static bool is_removed(const room *r, int dir, const char *path,
                       const char *name)
{
    struct stat st;
    char *full = NULL;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        asprintf(&full, "%s/%s", path, name) < 0) {
        return false;
    }
    const tree_entry *entry = tree_plan_find(r->plan, full);
    bool gone = entry != NULL && entry->state == TREE_EXTRA;
    if (S_ISDIR(st.st_mode)) {
        gone = all_removed(r, dir, full);
    }
    free(full);
    return gone;
}

/* The directory at `path`, below `parent`, becomes empty by the removals. An
 * empty one is foreign. */
static bool all_removed(const room *r, int parent, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name;
    size_t n = 0;
    bool gone = true;
    int dir = tree_fs_open_dir(parent, slash != NULL ? slash + 1 : path);
    DIR *reader = dir < 0 ? NULL : fdopendir(dir);
    if (reader == NULL) {
        if (dir >= 0) {
            close(dir);
        }
        return false;
    }
    while (gone && (name = tree_fs_next(reader)) != NULL) {
        gone = is_removed(r, dir, path, name);
        n++;
    }
    closedir(reader);
    return gone && n > 0;
}

/* What blocks the way of `path` at `at` goes with the removals. */
static bool blocker_removed(const room *r, const char *path, const char *at)
{
    size_t n = (size_t)(at - path) + strcspn(at, "/");
    char *blocker = strndup(path, n);
    const tree_entry *entry =
        blocker != NULL ? tree_plan_find(r->plan, blocker) : NULL;
    bool gone = entry != NULL && entry->state == TREE_EXTRA;
    if (!gone) {
        tree_place_refuse(r->place, blocker != NULL ? blocker : path,
                          "is not a directory, but a file of the output "
                          "belongs below it: move it away");
    }
    free(blocker);
    return gone;
}

static bool spot_has_room(const room *r, const tree_entry *entry,
                          const tree_spot *spot)
{
    uint64_t mount = 0;
    struct stat st;
    if (!tree_fs_writable(spot->dir)) {
        return tree_place_error(r->place, entry->path, "write");
    }
    if (!tree_fs_mount(spot->dir, &mount) || mount != r->mount) {
        return tree_place_refuse(r->place, entry->path,
                                 "is on a mount of its own inside the output "
                                 "tree: unmount it");
    }
    if (spot->blocked) {
        return blocker_removed(r, entry->path, spot->rest);
    }
    if (spot->reached && !entry->remove &&
        fstatat(spot->dir, spot->rest, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode) && !all_removed(r, spot->dir, entry->path)) {
        return tree_place_refuse(r->place, entry->path,
                                 "is a directory, but a file of the output "
                                 "belongs there: move it away");
    }
    return true;
}

static bool entry_has_room(const room *r, const tree_entry *entry)
{
    tree_spot spot;
    if (!tree_entry_differs(entry)) {
        return true;
    }
    if (!tree_fs_walk(r->place->dir, entry->path, &spot)) {
        return tree_place_error(r->place, entry->path, "write");
    }
    bool ok = spot_has_room(r, entry, &spot);
    close(spot.dir);
    return ok;
}

bool tree_plan_check_room(const tree_plan *plan, const tree_place *place)
{
    room r = {.plan = plan, .place = place};
    bool ok = true;
    if (place->dir < 0) {
        return true;
    }
    if (!tree_fs_writable(place->dir) || !tree_fs_mount(place->dir, &r.mount)) {
        return tree_place_error(place, NULL, "write");
    }
    for (size_t i = 0; i < plan->n; i++) {
        ok = entry_has_room(&r, &plan->entries[i]) && ok;
    }
    return ok;
}

/* --- pruning -------------------------------------------------------------- */

/* 1: the directory at `path` is away, 0: it stays, -1: failed. */
static int remove_empty(int root, const char *path)
{
    tree_spot spot;
    int gone = 1;
    if (!tree_fs_walk(root, path, &spot)) {
        return -1;
    }
    if (spot.reached && unlinkat(spot.dir, spot.rest, AT_REMOVEDIR) != 0 &&
        errno != ENOENT) {
        bool stays = errno == ENOTEMPTY || errno == EEXIST ||
                     errno == ENOTDIR || errno == EBUSY;
        gone = stays ? 0 : -1;
    }
    int saved = errno;
    close(spot.dir);
    errno = saved;
    return gone;
}

bool tree_plan_prune(const tree_plan *plan, int root, const char *path)
{
    char *dir = strdup(path);
    int gone = dir != NULL ? 1 : -1;
    char *slash;
    while (gone == 1 && (slash = strrchr(dir, '/')) != NULL) {
        *slash = '\0';
        gone = file_below(plan, dir, strlen(dir)) != NULL
                   ? 0
                   : remove_empty(root, dir);
    }
    free(dir);
    return gone >= 0;
}
