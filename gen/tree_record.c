/* tree_record.c: the text of a journal.
 *
 *     kiln journal 1
 *     put PATH_BYTES TEXT_BYTES     then the path, a new line, the text, one
 *     remove PATH_BYTES 0           then the path, two new lines
 *     end SHA256                    of every byte before this line
 */
#include "tree_record.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sha256.h"

#define FIRST_LINE "kiln journal 1\n"
#define END_BYTES (4 + 64 + 1) /* "end ", the digits, a new line */
#define LINE_BYTES 64          /* at least "remove " and two numbers */

typedef struct text {
    char *bytes;
    size_t n;
} text;

/* --- writing -------------------------------------------------------------- */

static void append(text *t, const void *bytes, size_t n)
{
    if (n > 0) {
        memcpy(t->bytes + t->n, bytes, n);
        t->n += n;
    }
}

static void append_entry(text *t, const tree_entry *entry)
{
    char line[LINE_BYTES];
    size_t n_path = strlen(entry->path);
    int n = snprintf(line, sizeof line, "%s %zu %zu\n",
                     entry->remove ? "remove" : "put", n_path, entry->n);
    append(t, line, (size_t)n);
    append(t, entry->path, n_path);
    append(t, "\n", 1);
    append(t, entry->text, entry->n);
    append(t, "\n", 1);
}

static size_t most_bytes(const tree_plan *plan)
{
    size_t size = sizeof FIRST_LINE + END_BYTES;
    for (size_t i = 0; i < plan->n; i++) {
        const tree_entry *entry = &plan->entries[i];
        if (tree_entry_differs(entry)) {
            size += LINE_BYTES + strlen(entry->path) + entry->n + 2;
        }
    }
    return size;
}

char *tree_record_write(const tree_plan *plan, size_t *n)
{
    char hex[65];
    text t = {.bytes = malloc(most_bytes(plan))};
    if (t.bytes == NULL) {
        return NULL;
    }
    append(&t, FIRST_LINE, strlen(FIRST_LINE));
    for (size_t i = 0; i < plan->n; i++) {
        if (tree_entry_differs(&plan->entries[i])) {
            append_entry(&t, &plan->entries[i]);
        }
    }
    kiln_sha256_hex(t.bytes, t.n, hex);
    append(&t, "end ", 4);
    append(&t, hex, 64);
    append(&t, "\n", 1);
    *n = t.n;
    return t.bytes;
}

/* --- reading -------------------------------------------------------------- */

bool tree_record_is_whole(const char *bytes, size_t n)
{
    char hex[65];
    size_t head = strlen(FIRST_LINE);
    if (n < head + END_BYTES || memcmp(bytes, FIRST_LINE, head) != 0) {
        return false;
    }
    const char *end = bytes + n - END_BYTES;
    kiln_sha256_hex(bytes, n - END_BYTES, hex);
    return memcmp(end, "end ", 4) == 0 && memcmp(end + 4, hex, 64) == 0 &&
           end[4 + 64] == '\n';
}

/* Reads a number and the character after it. */
static bool parse_number(char **at, char after, size_t *value)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(*at, &end, 10);
    bool ok = **at >= '0' && **at <= '9' && *end == after && errno == 0 &&
              v <= SIZE_MAX;
    *value = (size_t)v;
    *at = end + 1;
    return ok;
}

/* Reads one entry at *at and ends its path with a NUL. */
static bool parse_entry(char **at, const char *end, tree_file *file,
                        bool *remove)
{
    size_t n_path;
    *remove = strncmp(*at, "remove ", 7) == 0;
    if (!*remove && strncmp(*at, "put ", 4) != 0) {
        return false;
    }
    *at += *remove ? 7 : 4;
    if (!parse_number(at, ' ', &n_path) || !parse_number(at, '\n', &file->n) ||
        *at >= end) {
        return false;
    }
    size_t left = (size_t)(end - *at);
    if (n_path >= left || file->n >= left - n_path - 1) {
        return false;
    }
    (*at)[n_path] = '\0';
    file->path = *at;
    file->text = *at + n_path + 1;
    *at += n_path + 1 + file->n + 1;
    return true;
}

bool tree_record_read(tree_record *record, char *bytes, size_t n)
{
    assert(tree_record_is_whole(bytes, n));
    char *at = bytes + strlen(FIRST_LINE);
    const char *end = bytes + n - END_BYTES;
    size_t most = n / strlen("put 1 0\nx\n\n") + 1;
    *record = (tree_record){.files = calloc(most, sizeof *record->files),
                            .remove = calloc(most, sizeof *record->remove)};
    bool ok = record->files != NULL && record->remove != NULL;
    while (ok && at < end) {
        tree_file file;
        bool remove;
        ok = parse_entry(&at, end, &file, &remove);
        if (ok && remove) {
            record->remove[record->n_remove++] = file.path;
        } else if (ok) {
            record->files[record->n_files++] = file;
        }
    }
    if (!ok) {
        tree_record_free(record);
    }
    return ok;
}

void tree_record_free(tree_record *record)
{
    free(record->files);
    free(record->remove);
    *record = (tree_record){0};
}
