#define _GNU_SOURCE
#include "journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"

#define SYNC_LINES 50
#define NAME 2048
#define FIELD 256
#define PATH 4096

/* --- lines ---------------------------------------------------------------- */

typedef struct line {
    bool is_kernel;
    bool passed;
    char tier[FIELD];
    char isa[FIELD];
    char name[FIELD]; /* a kernel's symbol, a key's text */
    char op[FIELD];
    char config[FIELD];
    char mark[FIELD]; /* a kernel's hash, a key's ranges */
} line;

static bool field(const char *text, const char *name, char *value)
{
    return json_find(text, name, value, FIELD);
}

/* false: none of ours. */
static bool line_read(line *l, const char *text)
{
    char kind[FIELD], status[FIELD];
    if (!field(text, "kind", kind) || !field(text, "status", status))
        return false;
    l->is_kernel = strcmp(kind, "kernel") == 0;
    l->passed = strcmp(status, "pass") == 0;
    return (l->is_kernel || strcmp(kind, "key") == 0) &&
           field(text, "tier", l->tier) && field(text, "isa", l->isa) &&
           field(text, "op", l->op) &&
           field(text, l->is_kernel ? "kernel" : "key", l->name) &&
           field(text, "config", l->config) &&
           field(text, l->is_kernel ? "hash" : "ranges", l->mark);
}

static void kernel_name(char *name, const char *tier, const char *isa,
                        const char *symbol)
{
    snprintf(name, NAME, "s\t%s\t%s\t%s", tier, isa, symbol);
}

static void key_name(char *name, const char *tier, const char *isa,
                     const char *key, const char *config)
{
    snprintf(name, NAME, "k\t%s\t%s\t%s\t%s", tier, isa, key, config);
}

static bool note(journal *j, const line *l)
{
    char name[NAME];
    if (l->is_kernel)
        kernel_name(name, l->tier, l->isa, l->name);
    else
        key_name(name, l->tier, l->isa, l->name, l->config);
    return table_put(&j->states, name,
                     l->passed ? JOURNAL_PASSED : JOURNAL_FAILED);
}

static journal_state state_of(const journal *j, const char *name)
{
    return (journal_state)table_get(&j->states, name, JOURNAL_ABSENT);
}

journal_state journal_kernel(const journal *j, const work_kernel *kernel)
{
    char name[NAME];
    kernel_name(name, kernel->tier, kernel->isa, kernel->symbol);
    return state_of(j, name);
}

journal_state journal_symbol(const journal *j, const work_key *key,
                             const char *symbol)
{
    char name[NAME];
    kernel_name(name, key->tier, key->isa, symbol);
    return state_of(j, name);
}

journal_state journal_key(const journal *j, const work_key *key,
                          const char *config)
{
    char name[NAME];
    key_name(name, key->tier, key->isa, key->key, config);
    return state_of(j, name);
}

/* --- writing -------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        text += done;
        n -= (size_t)done;
    }
    return true;
}

bool journal_add(journal *j, const char *text)
{
    line l;
    size_t n = strlen(text);
    assert(n > 0 && text[n - 1] == '\n');
    if (!write_all(j->fd, text, n) || (line_read(&l, text) && !note(j, &l)))
        return false;
    j->lines++;
    if (++j->unsynced < SYNC_LINES)
        return true;
    j->unsynced = 0;
    return fsync(j->fd) == 0;
}

/* --- opening -------------------------------------------------------------- */

/* The whole file, ended by a NUL; NULL: it could not be read. */
static char *read_file(int fd, size_t *n)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return NULL;
    size_t size = (size_t)info.st_size;
    char *text = malloc(size + 1);
    *n = 0;
    while (text && *n < size) {
        ssize_t got = pread(fd, text + *n, size - *n, (off_t)*n);
        if (got <= 0) {
            free(text);
            return NULL;
        }
        *n += (size_t)got;
    }
    if (text)
        text[*n] = '\0';
    return text;
}

/* Of an op's config whose kernels changed. */
static void changed_name(char *name, const line *l)
{
    snprintf(name, NAME, "%s\t%s\t%s\t%s", l->tier, l->isa, l->op, l->config);
}

static bool is_stale(const worklist *w, const table *changed, const line *l)
{
    char name[NAME];
    if (l->is_kernel) {
        const work_kernel *k = worklist_kernel(w, l->tier, l->isa, l->name);
        return k && strcmp(k->hash, l->mark) != 0;
    }
    const work_key *k = worklist_key(w, l->tier, l->isa, l->name);
    changed_name(name, l);
    return (k && strcmp(k->ranges, l->mark) != 0) ||
           table_get(changed, name, 0) != 0;
}

/* Calls for each whole line of text, ended in place by a NUL while it is
 * looked at. */
typedef bool each_fn(void *user, char *text, size_t n);

static bool each_line(char *text, each_fn *fn, void *user)
{
    for (char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        bool good = fn(user, text, (size_t)(end - text));
        *end = '\n';
        if (!good)
            return false;
    }
    return true;
}

typedef struct opening {
    journal *j;
    const worklist *w;
    table changed;
    char *kept; /* lines that stay */
    size_t n_kept;
} opening;

static bool find_changed(void *user, char *text, size_t n)
{
    opening *o = user;
    line l;
    char name[NAME];
    (void)n;
    if (!line_read(&l, text) || !l.is_kernel ||
        !is_stale(o->w, &o->changed, &l))
        return true;
    changed_name(name, &l);
    return table_put(&o->changed, name, 1);
}

static bool keep_line(void *user, char *text, size_t n)
{
    opening *o = user;
    line l;
    if (line_read(&l, text)) {
        if (is_stale(o->w, &o->changed, &l)) {
            o->j->stale++;
            return true;
        }
        if (!note(o->j, &l))
            return false;
    }
    memcpy(o->kept + o->n_kept, text, n);
    o->n_kept += n;
    o->kept[o->n_kept++] = '\n';
    o->j->lines++;
    return true;
}

/* Puts a file of these bytes in the place of path, which stays locked. */
static bool replace(journal *j, const char *path, const char *text, size_t n)
{
    char next[PATH];
    int length = snprintf(next, sizeof next, "%s.new", path);
    if (length < 0 || (size_t)length >= sizeof next)
        return false;
    int fd =
        open(next, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !write_all(fd, text, n) ||
        fsync(fd) != 0 || rename(next, path) != 0) {
        close(fd);
        return false;
    }
    close(j->fd);
    j->fd = fd;
    return true;
}

static bool read_lines(journal *j, const char *path, const worklist *w)
{
    size_t n;
    opening o = {.j = j, .w = w};
    char *text = read_file(j->fd, &n);
    o.kept = text ? malloc(n + 1) : NULL;
    bool good = o.kept && each_line(text, find_changed, &o) &&
                each_line(text, keep_line, &o);
    if (good && j->stale > 0)
        good = replace(j, path, o.kept, o.n_kept);
    else if (good && o.n_kept < n) /* the last line is torn */
        good = ftruncate(j->fd, (off_t)o.n_kept) == 0;
    table_free(&o.changed);
    free(o.kept);
    free(text);
    return good;
}

bool journal_open(journal *j, const char *path, const worklist *w, char *why,
                  size_t cap)
{
    *j = (journal){.fd = -1};
    j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (j->fd < 0) {
        snprintf(why, cap, "%s: %s", path, strerror(errno));
        return false;
    }
    if (flock(j->fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(why, cap, "%s: another run is writing it", path);
        journal_close(j);
        return false;
    }
    if (!read_lines(j, path, w)) {
        snprintf(why, cap, "%s: cannot be read or put right: %s", path,
                 strerror(errno));
        journal_close(j);
        return false;
    }
    return true;
}

void journal_close(journal *j)
{
    if (j->fd >= 0) {
        (void)fsync(j->fd);
        close(j->fd);
    }
    table_free(&j->states);
    *j = (journal){.fd = -1};
}
