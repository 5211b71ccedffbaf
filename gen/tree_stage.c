#define _GNU_SOURCE /* renameat2, asprintf */
#include "tree_stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tree_fs.h"

typedef struct stage {
    const tree_place *place;
    const tree_plan *plan;
    uint64_t mount; /* of the old tree */
} stage;

static tree_staged fail(const stage *s, const char *path, const char *what)
{
    tree_place_error(s->place, path, what);
    return TREE_FAILED;
}

/* Refusals by the file system that the journal's way does not meet. */
static bool is_refusal(int error)
{
    return error == EINVAL || error == ENOSYS || error == EXDEV ||
           error == EPERM || error == EBUSY || error == EMLINK ||
           error == EOPNOTSUPP;
}

/* --- the old tree's entries ----------------------------------------------- */

/* A directory that the new one cannot stand for: another mount, one that we
 * could not empty later, or with an access list. */
static bool is_special(const stage *s, int dir)
{
    uint64_t mount;
    return !tree_fs_mount(dir, &mount) || mount != s->mount ||
           !tree_fs_writable(dir) ||
           fgetxattr(dir, "system.posix_acl_access", NULL, 0) > 0 ||
           fgetxattr(dir, "system.posix_acl_default", NULL, 0) > 0;
}

/* Owner, mode and times of one directory for another. */
static tree_staged dress(const stage *s, int old, int new, const char *path)
{
    struct stat st;
    struct stat now;
    if (fstat(old, &st) != 0 || fstat(new, &now) != 0) {
        return fail(s, path, "read");
    }
    if ((st.st_uid != now.st_uid || st.st_gid != now.st_gid) &&
        fchown(new, st.st_uid, st.st_gid) != 0) {
        return TREE_REFUSED;
    }
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    if (fchmod(new, st.st_mode & 07777) != 0 || futimens(new, times) != 0) {
        return fail(s, path, "copy");
    }
    return TREE_STAGED;
}

static tree_staged link_entries(const stage *s, int old, int new,
                                const char *path);

static tree_staged link_dir(const stage *s, int old, int new, const char *name,
                            const char *path)
{
    tree_staged result = TREE_FAILED;
    int below = -1;
    int from = tree_fs_open_dir(old, name);
    if (from >= 0 && mkdirat(new, name, 0700) == 0) {
        below = tree_fs_open_dir(new, name);
    }
    if (below < 0) {
        /* A foreign directory that cannot be read can stay where it is. */
        result =
            from < 0 && errno == EACCES ? TREE_REFUSED : fail(s, path, "copy");
    } else {
        result = link_entries(s, from, below, path);
        close(below);
    }
    if (from >= 0) {
        close(from);
    }
    return result;
}

/* One entry of the old tree: kept unless the plan has other things there. */
static tree_staged link_entry(const stage *s, int old, int new,
                              const char *name, const char *path)
{
    struct stat st;
    if (fstatat(old, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return fail(s, path, "read");
    }
    if (S_ISDIR(st.st_mode)) {
        return link_dir(s, old, new, name, path);
    }
    const tree_entry *entry = tree_plan_find(s->plan, path);
    if (entry != NULL && tree_entry_differs(entry)) {
        return TREE_STAGED;
    }
    if (linkat(old, name, new, name, 0) == 0) {
        return TREE_STAGED;
    }
    return is_refusal(errno) ? TREE_REFUSED : fail(s, path, "link");
}

/* The entries of directory `old` at `path`, "" for the root. */
static tree_staged link_entries(const stage *s, int old, int new,
                                const char *path)
{
    const char *name;
    tree_staged result = is_special(s, old) ? TREE_REFUSED : TREE_STAGED;
    int fd = tree_fs_open_dir(old, ".");
    DIR *reader = fd < 0 ? NULL : fdopendir(fd);
    if (reader == NULL) {
        result = fail(s, path, "list");
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    while (result == TREE_STAGED && (name = tree_fs_next(reader)) != NULL) {
        char *full = NULL;
        if (asprintf(&full, "%s%s%s", path, path[0] ? "/" : "", name) < 0) {
            result = fail(s, path, "list");
            break;
        }
        result = link_entry(s, old, new, name, full);
        free(full);
    }
    if (result == TREE_STAGED && errno != 0) {
        result = fail(s, path, "list");
    }
    closedir(reader);
    return result == TREE_STAGED ? dress(s, old, new, path) : result;
}

/* --- the plan's entries --------------------------------------------------- */

static bool write_entry(const stage *s, int new, const tree_entry *entry)
{
    const char *base;
    struct stat st;
    int old = s->place->dir < 0
                  ? 0
                  : tree_fs_stat_file(s->place->dir, entry->path, &st);
    if (old < 0) {
        return tree_place_error(s->place, entry->path, "read");
    }
    int dir = tree_fs_make_parents(new, entry->path, &base);
    if (dir < 0) {
        return tree_place_error(s->place, entry->path, "create");
    }
    bool ok =
        tree_fs_write(dir, base, entry->text, entry->n, old > 0 ? &st : NULL) ||
        tree_place_error(s->place, entry->path, "write");
    close(dir);
    return ok;
}

/* Removals first: a file may stand where a directory was, and the reverse. */
static bool apply(const stage *s, int new)
{
    for (size_t i = 0; i < s->plan->n; i++) {
        const tree_entry *entry = &s->plan->entries[i];
        if (entry->state == TREE_EXTRA &&
            !tree_plan_prune(s->plan, new, entry->path)) {
            return tree_place_error(s->place, entry->path, "remove");
        }
    }
    for (size_t i = 0; i < s->plan->n; i++) {
        const tree_entry *entry = &s->plan->entries[i];
        if (tree_entry_written(entry) && !write_entry(s, new, entry)) {
            return false;
        }
    }
    return tree_fs_flush(new) ||
           tree_place_error(s->place, NULL, "flush the new tree beside it");
}

/* --- putting it in place -------------------------------------------------- */

static tree_staged build(const stage *s)
{
    const tree_place *place = s->place;
    tree_staged result = TREE_STAGED;
    if (mkdirat(place->parent, place->staging, 0755) != 0) {
        return fail(s, NULL, "create the new tree beside it");
    }
    int new = tree_fs_open_dir(place->parent, place->staging);
    if (new < 0) {
        return fail(s, NULL, "open the new tree beside it");
    }
    if (place->dir >= 0) {
        result = link_entries(s, place->dir, new, "");
    }
    if (result == TREE_STAGED && !apply(s, new)) {
        result = TREE_FAILED;
    }
    close(new);
    return result;
}

static tree_staged exchange(const stage *s)
{
    const tree_place *p = s->place;
    int failed = p->dir < 0
                     ? renameat(p->parent, p->staging, p->parent, p->name)
                     : renameat2(p->parent, p->staging, p->parent, p->name,
                                 RENAME_EXCHANGE);
    if (failed == 0) {
        return TREE_STAGED;
    }
    return p->dir >= 0 && is_refusal(errno) ? TREE_REFUSED
                                            : fail(s, NULL, "replace");
}

/* Under the staging name: the old tree, or a new one that is not wanted. */
static bool clean(const tree_place *place, bool done)
{
    return tree_fs_remove(place->parent, place->staging) ||
           tree_place_error(place, NULL,
                            done ? "remove the old tree beside it (the new "
                                   "one is in place)"
                                 : "remove the new tree beside it");
}

tree_staged tree_stage_commit(const tree_place *place, const tree_plan *plan)
{
    stage s = {.place = place, .plan = plan};
    if (place->dir >= 0 && !tree_fs_mount(place->dir, &s.mount)) {
        return fail(&s, NULL, "open");
    }
    tree_staged result = build(&s);
    if (result == TREE_STAGED) {
        result = exchange(&s);
    }
    bool done = result == TREE_STAGED;
    if (done && !tree_fs_flush(place->parent)) {
        result = fail(&s, NULL, "flush its parent (the new tree is in place)");
    }
    return clean(place, done) ? result : TREE_FAILED;
}
