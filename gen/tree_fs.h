/* tree_fs.h: the file system below tree.h: names relative to open
 * directories, links never followed. All functions report by errno.
 */
#ifndef KILN_GEN_TREE_FS_H
#define KILN_GEN_TREE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* How far a path could be followed from a root. */
typedef struct tree_spot {
    int dir;          /* the last directory that was reached; close it */
    const char *rest; /* what follows it in the path */
    bool reached;     /* rest is the last part alone */
    bool blocked;     /* the next part exists, but is no directory */
} tree_spot;

/* A descriptor, or -1; ENOTDIR for links too. */
int tree_fs_open_dir(int at, const char *name);
/* Follows all but the last part of path. false, nothing to close: a part
 * could not be looked at. */
bool tree_fs_walk(int root, const char *path, tree_spot *spot);
/* The directory of path's last part, made where missing, or -1; *base is that
 * part. */
int tree_fs_make_parents(int root, const char *path, const char **base);
/* 1: a regular file stands at path; 0: something else, or nothing; -1:
 * failed. */
int tree_fs_stat_file(int root, const char *path, struct stat *st);
/* 1: the regular file `name` holds these bytes; 0: others; -1: failed. */
int tree_fs_same(int dir, const char *name, const char *text, size_t n);
/* Makes the new file `name`. Owner and mode are those of `like`, or the
 * process's own and 0644 less the umask when NULL. */
bool tree_fs_write(int dir, const char *name, const char *text, size_t n,
                   const struct stat *like);
/* Removes the file or the whole directory; true when it is absent. */
bool tree_fs_remove(int dir, const char *name);
/* Waits until all that was done so far on dir's file system is on the disk.
 * One syncfs: with 600 new files it took a third of the time of an fsync of
 * each, and a staged tree's directories are all new. */
bool tree_fs_flush(int dir);
/* The mount that an open directory belongs to. */
bool tree_fs_mount(int dir, uint64_t *id);
/* This process may list the directory and make and remove files in it. */
bool tree_fs_writable(int dir);
/* The reader's next entry but "." and "..", or NULL: the end when errno is 0,
 * else a failure. reader is a DIR. */
const char *tree_fs_next(void *reader);

#endif /* KILN_GEN_TREE_FS_H */
