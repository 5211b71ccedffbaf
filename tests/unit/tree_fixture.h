/* tree_fixture.h: what the tests of gen/tree.h share: a folder of their own
 * as working directory, and its contents as one text.
 */
#ifndef KILN_TESTS_UNIT_TREE_FIXTURE_H
#define KILN_TESTS_UNIT_TREE_FIXTURE_H

#include "core/sha256.h"
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A tree_file of a string literal. */
#define TEXT(path, text)                                                       \
    {                                                                          \
        (path), "" text, sizeof text - 1                                       \
    }

/* Stands in for gen/diag.c: keeps "path: message" lines. */
struct diag {
    char text[4000];
};

void diag_add(diag *sink, const char *path, int line, int col,
              const char *format, ...)
{
    va_list args;
    size_t n = strlen(sink->text);
    (void)line;
    (void)col;
    n += (size_t)snprintf(sink->text + n, sizeof sink->text - n, "%s: ", path);
    va_start(args, format);
    n += (size_t)vsnprintf(sink->text + n, sizeof sink->text - n, format, args);
    va_end(args);
    snprintf(sink->text + n, sizeof sink->text - n, "\n");
}

typedef enum tree_status commit_fn(const tree_change *, struct diag *);

typedef struct fixture {
    commit_fn *commit;
    tree_change change;
    diag sink;
    char *report_text;
    size_t report_size;
    size_t report_seen; /* by assert_report */
    FILE *report;
    char folder[64];
    int before; /* the working directory before */
} fixture;

static inline int set_up(void **state, commit_fn *commit)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->commit = commit;
    f->report = open_memstream(&f->report_text, &f->report_size);
    f->before = open(".", O_RDONLY | O_DIRECTORY);
    strcpy(f->folder, "/tmp/kiln-tree-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(chmod(f->folder, 0755), 0);
    assert_int_equal(chdir(f->folder), 0);
    umask(022);
    *state = f;
    return 0;
}

static inline int set_up_exchange(void **state)
{
    return set_up(state, tree_commit);
}

static inline int set_up_journal(void **state)
{
    return set_up(state, tree_commit_journal);
}

static inline int wait_for(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    pid_t child = fork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "chmod -R u+rwx \"$0\"; rm -rf \"$0\"",
               f->folder, (char *)NULL);
        _exit(127);
    }
    int status = wait_for(child) + fchdir(f->before);
    close(f->before);
    fclose(f->report);
    free(f->report_text);
    free(f);
    return status;
}

/* Writes a file, and its parents. */
static inline void put(const char *path, const char *text)
{
    char part[300];
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
        mkdir(part, 0755);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static inline struct stat stat_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static inline void long_ago(const char *path)
{
    const struct timespec times[2] = {{1000, 5}, {1000, 5}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static inline bool is_long_ago(const char *path)
{
    struct stat st = stat_of(path);
    return st.st_mtim.tv_sec == 1000 && st.st_mtim.tv_nsec == 5;
}

/* One entry as "path/ ", "path=text ", "path>target " or "path? ". */
static inline void describe(FILE *to, const char *path, const char *shown)
{
    struct stat st = stat_of(path);
    char text[1000];
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(path, text, sizeof text);
        fprintf(to, "%s>%.*s ", shown, (int)n, text);
    } else if (S_ISREG(st.st_mode)) {
        FILE *file = fopen(path, "r");
        size_t n = file != NULL ? fread(text, 1, sizeof text, file) : 0;
        fprintf(to, "%s=%.*s ", shown, (int)n, text);
        if (file != NULL) {
            fclose(file);
        }
    } else {
        fprintf(to, S_ISDIR(st.st_mode) ? "%s/ " : "%s? ", shown);
    }
}

static inline int not_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* alphasort goes by the locale; tests never set one, so by bytes. */
static inline void list(FILE *to, const char *root, const char *below)
{
    char path[600];
    struct dirent **entries;
    snprintf(path, sizeof path, "%s/%s", root, below);
    int n = scandir(path, &entries, not_dots, alphasort);
    for (int i = 0; i < n; i++) {
        char shown[300];
        snprintf(shown, sizeof shown, "%s%s%s", below, *below ? "/" : "",
                 entries[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", root, shown);
        describe(to, path, shown);
        if (S_ISDIR(stat_of(path).st_mode)) {
            list(to, root, shown);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
}

/* All that stands below root, hidden names too. */
static inline void assert_tree(const char *root, const char *want)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    list(to, root, "");
    fclose(to);
    assert_string_equal(text, want);
    free(text);
}

/* The report since the last call. */
static inline void assert_report(fixture *f, const char *want)
{
    fflush(f->report);
    assert_string_equal(f->report_text + f->report_seen, want);
    f->report_seen = f->report_size;
}

#endif /* KILN_TESTS_UNIT_TREE_FIXTURE_H */
