#include "diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A longer message is cut: a file may hold a key of megabytes. */
#define TEXT_MAX 1000

typedef struct message {
    char *text; /* path, NUL, text, NUL: one block */
    size_t bytes;
    size_t path_bytes; /* with its NUL */
    size_t arrival;
    int line;
    int col;
} message;

struct diag {
    diag_alloc_fn *alloc;
    void *user;
    message *messages;
    size_t n, room;
    size_t count; /* ever added */
    size_t lost;
};

diag *diag_create(diag_alloc_fn *alloc, void *user)
{
    assert(alloc);
    diag *sink = alloc(user, NULL, 0, sizeof *sink);
    if (sink) {
        *sink = (diag){.alloc = alloc, .user = user};
    }
    return sink;
}

static void drop_messages(diag *sink)
{
    for (size_t i = 0; i < sink->n; i++) {
        message *m = &sink->messages[i];
        sink->alloc(sink->user, m->text, m->bytes, 0);
    }
    sink->n = 0;
}

void diag_destroy(diag *sink)
{
    if (!sink) {
        return;
    }
    drop_messages(sink);
    if (sink->messages) {
        sink->alloc(sink->user, sink->messages,
                    sink->room * sizeof *sink->messages, 0);
    }
    sink->alloc(sink->user, sink, sizeof *sink, 0);
}

size_t diag_count(const diag *sink)
{
    return sink->count;
}

size_t diag_lost(const diag *sink)
{
    return sink->lost;
}

static bool make_room(diag *sink)
{
    if (sink->n < sink->room) {
        return true;
    }
    const size_t room = sink->room ? sink->room * 2 : 16;
    message *grown =
        sink->alloc(sink->user, sink->messages, sink->room * sizeof *grown,
                    room * sizeof *grown);
    if (!grown) {
        return false;
    }
    sink->messages = grown;
    sink->room = room;
    return true;
}

/* Ends a text that vsnprintf cut with "...", not inside a character. */
static void mark_cut(char text[TEXT_MAX])
{
    size_t end = TEXT_MAX - 4;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) {
        end--;
    }
    memcpy(text + end, "...", 4);
}

static bool keep(diag *sink, const char *path, int line, int col,
                 const char *text)
{
    if (!make_room(sink)) {
        return false;
    }
    message *m = &sink->messages[sink->n];
    const size_t path_bytes = strlen(path) + 1;
    const size_t text_bytes = strlen(text) + 1;
    *m = (message){.bytes = path_bytes + text_bytes,
                   .path_bytes = path_bytes,
                   .arrival = sink->count,
                   .line = line,
                   .col = col};
    m->text = sink->alloc(sink->user, NULL, 0, m->bytes);
    if (!m->text) {
        return false;
    }
    memcpy(m->text, path, path_bytes);
    memcpy(m->text + path_bytes, text, text_bytes);
    sink->n++;
    return true;
}

void diag_vadd(diag *sink, const char *path, int line, int col,
               const char *format, va_list args)
{
    assert(sink && format);
    char text[TEXT_MAX];
    const int n = vsnprintf(text, sizeof text, format, args);
    if (n < 0 || n >= TEXT_MAX) {
        mark_cut(text);
    }
    if (!keep(sink, path ? path : "", line, col, text)) {
        sink->lost++;
    }
    sink->count++;
}

void diag_add(diag *sink, const char *path, int line, int col,
              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_vadd(sink, path, line, col, format, args);
    va_end(args);
}

static int by_place(const void *left, const void *right)
{
    const message *a = left;
    const message *b = right;
    const int path = strcmp(a->text, b->text);
    if (path != 0) {
        return path;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    if (a->col != b->col) {
        return a->col < b->col ? -1 : 1;
    }
    return a->arrival < b->arrival ? -1 : 1;
}

static void write_escaped(const char *text, FILE *to)
{
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte == '\n') {
            fputs("\\n", to);
        } else if (byte < 0x20 || byte == 0x7F) {
            fprintf(to, "\\x%02x", byte);
        } else {
            fputc(byte, to);
        }
    }
}

static void write_path(const message *m, FILE *to)
{
    write_escaped(m->text[0] ? m->text : "kiln", to);
}

static void write_message(const message *m, FILE *to)
{
    write_path(m, to);
    if (m->line > 0 && m->col > 0) {
        fprintf(to, ":%d:%d", m->line, m->col);
    } else if (m->line > 0) {
        fprintf(to, ":%d", m->line);
    }
    fputs(": ", to);
    write_escaped(m->text + m->path_bytes, to);
    fputc('\n', to);
}

static bool repeats(const message *a, const message *b)
{
    return a->line == b->line && a->col == b->col && a->bytes == b->bytes &&
           memcmp(a->text, b->text, a->bytes) == 0;
}

/* Drops what was said before at the same place, as far as NEAR messages back;
 * they are sorted. */
static void drop_repeats(diag *sink)
{
    enum { NEAR = 32 };
    size_t kept = 0;
    for (size_t i = 0; i < sink->n; i++) {
        message *m = &sink->messages[i];
        size_t back = 1;
        while (back <= NEAR && back <= kept &&
               !repeats(m, &sink->messages[kept - back])) {
            back++;
        }
        if (back <= NEAR && back <= kept) {
            sink->alloc(sink->user, m->text, m->bytes, 0);
        } else {
            sink->messages[kept++] = *m;
        }
    }
    sink->n = kept;
}

/* The messages of one path: sorted, first to last-1. */
static void write_file(const message *first, const message *last, FILE *to)
{
    const size_t n = (size_t)(last - first);
    for (size_t i = 0; i < n && i < DIAG_SHOWN; i++) {
        write_message(&first[i], to);
    }
    if (n > DIAG_SHOWN) {
        write_path(first, to);
        fprintf(to, ": and %zu more\n", n - DIAG_SHOWN);
    }
}

static void write_files(diag *sink, FILE *to)
{
    qsort(sink->messages, sink->n, sizeof *sink->messages, by_place);
    drop_repeats(sink);
    const message *end = sink->messages + sink->n;
    for (const message *first = sink->messages; first < end;) {
        const message *last = first + 1;
        while (last < end && strcmp(first->text, last->text) == 0) {
            last++;
        }
        write_file(first, last, to);
        first = last;
    }
    drop_messages(sink);
}

bool diag_write(diag *sink, FILE *to)
{
    if (sink->n > 0) {
        write_files(sink, to);
    }
    return fflush(to) == 0 && !ferror(to);
}
