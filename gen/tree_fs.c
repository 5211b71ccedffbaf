#define _GNU_SOURCE /* statx, syncfs */
#include "tree_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Closes fd; errno stays as it is. */
static void close_quietly(int fd)
{
    int saved = errno;
    close(fd);
    errno = saved;
}

int tree_fs_open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP) {
        errno = ENOTDIR;
    }
    return fd;
}

/* Copies the first part of path; false when no name may be that long. */
static bool first_part(const char *path, size_t n, char part[NAME_MAX + 1])
{
    if (n > NAME_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(part, path, n);
    part[n] = '\0';
    return true;
}

bool tree_fs_walk(int root, const char *path, tree_spot *spot)
{
    char part[NAME_MAX + 1];
    *spot = (tree_spot){.dir = tree_fs_open_dir(root, "."), .rest = path};
    if (spot->dir < 0) {
        return false;
    }
    for (;;) {
        const char *slash = strchr(spot->rest, '/');
        spot->reached = slash == NULL;
        if (spot->reached) {
            return true;
        }
        int next = -1;
        if (first_part(spot->rest, (size_t)(slash - spot->rest), part)) {
            next = tree_fs_open_dir(spot->dir, part);
        }
        if (next < 0) {
            spot->blocked = errno == ENOTDIR;
            break;
        }
        close(spot->dir);
        spot->dir = next;
        spot->rest = slash + 1;
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        return true;
    }
    close_quietly(spot->dir);
    return false;
}

int tree_fs_make_parents(int root, const char *path, const char **base)
{
    tree_spot spot;
    if (!tree_fs_walk(root, path, &spot)) {
        return -1;
    }
    while (!spot.reached) {
        char part[NAME_MAX + 1];
        const char *slash = strchr(spot.rest, '/');
        int next = -1;
        if (first_part(spot.rest, (size_t)(slash - spot.rest), part) &&
            (mkdirat(spot.dir, part, 0755) == 0 || errno == EEXIST)) {
            next = tree_fs_open_dir(spot.dir, part);
        }
        close_quietly(spot.dir);
        if (next < 0) {
            return -1;
        }
        spot.dir = next;
        spot.rest = slash + 1;
        spot.reached = strchr(spot.rest, '/') == NULL;
    }
    *base = spot.rest;
    return spot.dir;
}

int tree_fs_stat_file(int root, const char *path, struct stat *st)
{
    tree_spot spot;
    int found = 0;
    if (!tree_fs_walk(root, path, &spot)) {
        return -1;
    }
    if (spot.reached &&
        fstatat(spot.dir, spot.rest, st, AT_SYMLINK_NOFOLLOW) == 0) {
        found = S_ISREG(st->st_mode);
    } else if (spot.reached && errno != ENOENT) {
        found = -1;
    }
    close_quietly(spot.dir);
    return found;
}

static int same_bytes(int fd, const char *text, size_t n)
{
    char piece[1 << 16];
    size_t at = 0;
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -1 : at == n;
        }
        if ((size_t)got > n - at || memcmp(text + at, piece, (size_t)got)) {
            return 0;
        }
        at += (size_t)got;
    }
}

int tree_fs_same(int dir, const char *name, const char *text, size_t n)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return -1;
    }
    if (!S_ISREG(st.st_mode) || (uintmax_t)st.st_size != n) {
        return 0;
    }
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int same = same_bytes(fd, text, n);
    close_quietly(fd);
    return same;
}

static bool write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, text, n);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        if (put > 0) {
            text += put;
            n -= (size_t)put;
        }
    }
    return true;
}

/* The owner is kept where the process may give files away. */
static bool set_like(int fd, const struct stat *like)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return false;
    }
    if (st.st_uid != like->st_uid || st.st_gid != like->st_gid) {
        int refused = fchown(fd, like->st_uid, like->st_gid);
        (void)refused;
    }
    return fchmod(fd, like->st_mode & 07777) == 0;
}

bool tree_fs_write(int dir, const char *name, const char *text, size_t n,
                   const struct stat *like)
{
    int fd = openat(dir, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) {
        return false;
    }
    bool ok = write_all(fd, text, n) && (like == NULL || set_like(fd, like));
    if (!ok) {
        close_quietly(fd);
        return false;
    }
    return close(fd) == 0;
}

const char *tree_fs_next(void *reader)
{
    struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(reader);
    } while (entry != NULL && (strcmp(entry->d_name, ".") == 0 ||
                               strcmp(entry->d_name, "..") == 0));
    return entry != NULL ? entry->d_name : NULL;
}

static bool close_reader(DIR *reader, bool ok)
{
    int saved = errno;
    closedir(reader);
    errno = saved;
    return ok;
}

/* NULL: failed. dir stays the caller's. */
static DIR *open_reader(int dir)
{
    int fd = tree_fs_open_dir(dir, ".");
    DIR *reader = fd < 0 ? NULL : fdopendir(fd);
    if (reader == NULL && fd >= 0) {
        close_quietly(fd);
    }
    return reader;
}

static bool remove_entries(int dir)
{
    DIR *reader = open_reader(dir);
    const char *name;
    if (reader == NULL) {
        return false;
    }
    while ((name = tree_fs_next(reader)) != NULL) {
        if (!tree_fs_remove(dir, name)) {
            return close_reader(reader, false);
        }
    }
    return close_reader(reader, errno == 0);
}

bool tree_fs_remove(int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT;
    }
    if (!S_ISDIR(st.st_mode)) {
        return unlinkat(dir, name, 0) == 0;
    }
    int fd = tree_fs_open_dir(dir, name);
    if (fd < 0) {
        return false;
    }
    bool ok = remove_entries(fd);
    close_quietly(fd);
    return ok && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

bool tree_fs_flush(int dir)
{
    return syncfs(dir) == 0;
}

/* Kernels before 5.8 do not number mounts: the device must do. */
bool tree_fs_mount(int dir, uint64_t *id)
{
    struct statx st;
    if (statx(dir, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0) {
        return false;
    }
    *id = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    if ((st.stx_mask & STATX_MNT_ID) != 0) {
        *id = st.stx_mnt_id;
    }
    return true;
}

bool tree_fs_writable(int dir)
{
    return faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0;
}
