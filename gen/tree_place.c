#define _GNU_SOURCE /* asprintf, realpath */
#include "tree_place.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fs.h"

bool tree_place_refuse(const tree_place *place, const char *path,
                       const char *why)
{
    char *full = NULL;
    if (path != NULL && asprintf(&full, "%s/%s", place->root, path) < 0) {
        full = NULL;
    }
    diag_add(place->sink, full != NULL ? full : place->root, 0, 0, "%s", why);
    free(full);
    return false;
}

bool tree_place_error(const tree_place *place, const char *path,
                      const char *what)
{
    char why[512];
    snprintf(why, sizeof why, "cannot %s: %s", what, strerror(errno));
    return tree_place_refuse(place, path, why);
}

/* --- names ---------------------------------------------------------------- */

/* Splits path at its last slash into *head (malloc'd, "." when there is none)
 * and place->name. */
static bool split(tree_place *place, const char *path, char **head)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    size_t base = n;
    while (base > 0 && path[base - 1] != '/') {
        base--;
    }
    place->name = strndup(path + base, n - base);
    *head = base > 0 ? strndup(path, base) : strdup(".");
    if (place->name == NULL || *head == NULL) {
        errno = ENOMEM;
        return tree_place_error(place, NULL, "resolve the path");
    }
    if (place->name[0] == '\0' || strcmp(place->name, ".") == 0 ||
        strcmp(place->name, "..") == 0) {
        return tree_place_refuse(
            place, NULL, "cannot be an output tree: name a directory below it");
    }
    return true;
}

/* Whether the current directory is `real` or below it: exchanging that would
 * pull it from under every process there. */
static bool holds_current(const char *real)
{
    char *current = getcwd(NULL, 0);
    size_t n = strlen(real);
    bool holds = current != NULL && strncmp(current, real, n) == 0 &&
                 (current[n] == '/' || current[n] == '\0');
    free(current);
    return holds;
}

/* Sets name and *head, the directory that holds the tree; head need not
 * exist. */
static bool resolve(tree_place *place, char **head)
{
    struct stat st;
    char *real = realpath(place->root, NULL);
    if (real != NULL) {
        bool ok = holds_current(real)
                      ? tree_place_refuse(place, NULL,
                                          "is the current directory or holds "
                                          "it: name a directory of its own")
                      : split(place, real, head);
        free(real);
        return ok;
    }
    if (errno != ENOENT) {
        return tree_place_error(place, NULL, "resolve the path");
    }
    if (lstat(place->root, &st) == 0) {
        return tree_place_refuse(place, NULL,
                                 "is a link to a path that does not exist: "
                                 "make that directory or remove the link");
    }
    return split(place, place->root, head);
}

static bool name_neighbours(tree_place *place)
{
    if (asprintf(&place->staging, ".%s.new", place->name) < 0) {
        place->staging = NULL;
    }
    if (asprintf(&place->journal, ".%s.journal", place->name) < 0) {
        place->journal = NULL;
    }
    if (place->staging == NULL || place->journal == NULL) {
        errno = ENOMEM;
        return tree_place_error(place, NULL, "open");
    }
    return true;
}

/* --- directories ---------------------------------------------------------- */

/* Makes the parts of `head` that are missing, and remembers them. */
static bool make_head(tree_place *place, char *head)
{
    bool ok = true;
    for (size_t n = 1; ok && n <= strlen(head); n++) {
        char cut = head[n];
        if ((cut != '/' && cut != '\0') || head[n - 1] == '/') {
            continue;
        }
        head[n] = '\0';
        if (mkdir(head, 0755) == 0) {
            place->n_made = place->n_made > 0 ? place->n_made : n;
        } else {
            ok = errno == EEXIST;
        }
        head[n] = cut;
    }
    if (place->n_made > 0) {
        int saved = errno;
        place->made = strdup(head);
        errno = saved;
    }
    return ok;
}

/* Those that hold something stay. */
static void unmake_head(tree_place *place)
{
    if (place->made == NULL) {
        return;
    }
    for (size_t n = strlen(place->made); n >= place->n_made; n--) {
        if (place->made[n] == '/' || place->made[n] == '\0') {
            place->made[n] = '\0';
            rmdir(place->made);
        }
    }
}

static bool lock(int dir, int how)
{
    while (flock(dir, how) != 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool open_parent(tree_place *place, char *head, bool change)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    place->parent = open(head, flags);
    if (place->parent < 0 && errno == ENOENT) {
        if (!change) {
            return true;
        }
        if (!make_head(place, head)) {
            return tree_place_error(place, NULL, "create its parents");
        }
        place->parent = open(head, flags);
    }
    if (place->parent < 0) {
        return tree_place_error(place, NULL, "open its parent");
    }
    if (!lock(place->parent, change ? LOCK_EX : LOCK_SH)) {
        return tree_place_error(place, NULL, "lock its parent");
    }
    return true;
}

/* Only now, with the lock held, does the name stand for what it will. */
static bool open_tree(tree_place *place)
{
    if (place->parent < 0) {
        return true;
    }
    place->dir = tree_fs_open_dir(place->parent, place->name);
    if (place->dir < 0 && errno == ENOTDIR) {
        return tree_place_refuse(place, NULL,
                                 "is not a directory: name another output "
                                 "tree or move it away");
    }
    return place->dir >= 0 || errno == ENOENT ||
           tree_place_error(place, NULL, "open");
}

bool tree_place_open(tree_place *place, const char *root, bool change,
                     struct diag *sink)
{
    char *head = NULL;
    assert(root != NULL);
    *place = (tree_place){.root = root, .sink = sink, .parent = -1, .dir = -1};
    bool ok = resolve(place, &head) && name_neighbours(place) &&
              open_parent(place, head, change) && open_tree(place);
    free(head);
    if (!ok) {
        tree_place_close(place);
    }
    return ok;
}

void tree_place_close(tree_place *place)
{
    if (place->dir >= 0) {
        close(place->dir);
    }
    unmake_head(place);
    if (place->parent >= 0) {
        close(place->parent);
    }
    free(place->made);
    free(place->journal);
    free(place->staging);
    free(place->name);
    *place = (tree_place){.parent = -1, .dir = -1};
}
