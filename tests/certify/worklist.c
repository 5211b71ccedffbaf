#include "worklist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_KERNEL 9
#define FIELDS_KEY 8
#define MAX_FIELDS 16
#define MAX_NAME 512

static char *read_file(const char *path, char *why, size_t cap)
{
    FILE *in = fopen(path, "rb");
    size_t n = 0;
    size_t room = 1 << 16;
    char *text = in ? malloc(room) : NULL;
    while (text) {
        n += fread(text + n, 1, room - n - 1, in);
        if (n < room - 1)
            break;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (!text || ferror(in)) {
        snprintf(why, cap, "%s: %s", path, strerror(errno ? errno : ENOMEM));
        free(text);
        text = NULL;
    } else {
        text[n] = '\0';
    }
    if (in)
        fclose(in);
    return text;
}

static int count(const char *text, char c)
{
    int n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

/* Cuts text at each `by`, drops spaces around and empty pieces. */
static int split(char *text, char by, char **pieces)
{
    int n = 0;
    for (char *next; text; text = next) {
        next = strchr(text, by);
        if (next)
            *next++ = '\0';
        text += strspn(text, " ");
        size_t length = strlen(text);
        while (length > 0 && text[length - 1] == ' ')
            text[--length] = '\0';
        if (length > 0)
            pieces[n++] = text;
    }
    return n;
}

static void name_of(char *name, char kind, const char *isa, const char *text)
{
    snprintf(name, MAX_NAME, "%c\t%s\t%s", kind, isa, text);
}

typedef struct reader {
    worklist *w;
    const char *path;
    int line;
    char **part; /* the next free one */
    char *why;
    size_t cap;
} reader;

static bool fail(const reader *r, const char *problem)
{
    snprintf(r->why, r->cap, "%s:%d: %s", r->path, r->line, problem);
    return false;
}

static bool add_name(reader *r, char kind, const char *isa, const char *text,
                     int index)
{
    char name[MAX_NAME];
    name_of(name, kind, isa, text);
    if (table_get(&r->w->by_name, name, -1) >= 0)
        return fail(r, "a second line for the same kernel or key");
    return table_put(&r->w->by_name, name, index) || fail(r, "out of memory");
}

static bool read_kernel(reader *r, char **f, int n)
{
    if (n != FIELDS_KERNEL)
        return fail(r, "a kernel line has 9 fields: kernel, ISA, symbol, "
                       "hash, op, config, standing, limits, calls");
    int index = r->w->n_kernels++;
    work_kernel *k = &r->w->kernels[index];
    *k = (work_kernel){.isa = f[1], .symbol = f[2], .hash = f[3]};
    k->op = f[4];
    k->config = f[5];
    k->standing = strcmp(f[6], "1") == 0;
    k->limits = f[7];
    k->calls = r->part;
    k->n_calls = split(f[8], ';', r->part);
    r->part += k->n_calls;
    if (k->n_calls == 0)
        return fail(r, "a kernel without calls");
    return add_name(r, 's', k->isa, k->symbol, index);
}

static bool read_key(reader *r, char **f, int n)
{
    if (n != FIELDS_KEY)
        return fail(r, "a key line has 8 fields: key, ISA, key, ranges, op, "
                       "configs, standing, call");
    int index = r->w->n_keys++;
    work_key *k = &r->w->keys[index];
    *k = (work_key){.isa = f[1], .key = f[2], .ranges = f[3], .op = f[4]};
    k->configs = r->part;
    k->n_configs = split(f[5], ',', r->part);
    r->part += k->n_configs;
    k->standing = f[6];
    k->call = f[7];
    if (k->n_configs == 0)
        return fail(r, "a key without configs");
    return add_name(r, 'k', k->isa, k->key, index);
}

static bool read_line(reader *r, char *line)
{
    char *fields[MAX_FIELDS];
    int n = 0;
    if (*line == '#' || *line == '\0')
        return true;
    for (char *next; line && n < MAX_FIELDS; line = next) {
        next = strchr(line, '\t');
        if (next)
            *next++ = '\0';
        fields[n++] = line;
    }
    if (strcmp(fields[0], "kernel") == 0)
        return read_kernel(r, fields, n);
    if (strcmp(fields[0], "key") == 0)
        return read_key(r, fields, n);
    return fail(r, "a line starts with kernel or key");
}

bool worklist_load(worklist *w, const char *path, char *why, size_t cap)
{
    *w = (worklist){0};
    w->text = read_file(path, why, cap);
    if (!w->text)
        return false;
    size_t lines = (size_t)count(w->text, '\n') + 1;
    size_t parts =
        lines * 2 + (size_t)count(w->text, ';') + (size_t)count(w->text, ',');
    w->kernels = calloc(lines, sizeof *w->kernels);
    w->keys = calloc(lines, sizeof *w->keys);
    w->parts = calloc(parts, sizeof *w->parts);
    reader r = {w, path, 0, w->parts, why, cap};
    bool good = w->kernels && w->keys && w->parts;
    if (!good)
        fail(&r, "out of memory");
    for (char *at = w->text, *next; good && at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        good = read_line(&r, at);
    }
    if (!good)
        worklist_free(w);
    return good;
}

void worklist_free(worklist *w)
{
    table_free(&w->by_name);
    free(w->kernels);
    free(w->keys);
    free(w->parts);
    free(w->text);
    *w = (worklist){0};
}

bool worklist_has_op(const char *ops, const char *op)
{
    size_t n = strlen(op);
    while (ops && *ops) {
        size_t length = strcspn(ops, ",");
        if (length == n && strncmp(ops, op, n) == 0)
            return true;
        ops += length + (ops[length] == ',');
        if (!*ops)
            return false;
    }
    return ops == NULL;
}

const work_kernel *worklist_kernel(const worklist *w, const char *isa,
                                   const char *symbol)
{
    char name[MAX_NAME];
    name_of(name, 's', isa, symbol);
    int i = table_get(&w->by_name, name, -1);
    return i < 0 ? NULL : &w->kernels[i];
}

const work_key *worklist_key(const worklist *w, const char *isa,
                             const char *key)
{
    char name[MAX_NAME];
    name_of(name, 'k', isa, key);
    int i = table_get(&w->by_name, name, -1);
    return i < 0 ? NULL : &w->keys[i];
}
