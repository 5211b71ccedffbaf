#include "worklist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_KERNEL 10
#define FIELDS_KEY 9
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

static void name_of(char *name, char kind, const char *tier, const char *isa,
                    const char *text)
{
    snprintf(name, MAX_NAME, "%c\t%s\t%s\t%s", kind, tier, isa, text);
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

static bool add_name(reader *r, const char *name, int index)
{
    if (table_get(&r->w->by_name, name, -1) >= 0)
        return fail(r, "a second line for the same kernel or key");
    return table_put(&r->w->by_name, name, index) || fail(r, "out of memory");
}

static bool read_kernel(reader *r, char **f, int n)
{
    char name[MAX_NAME];
    if (n != FIELDS_KERNEL)
        return fail(r, "a kernel line has 10 fields: kernel, tier, ISA, "
                       "symbol, hash, op, config, standing, limits, calls");
    int index = r->w->n_kernels++;
    work_kernel *k = &r->w->kernels[index];
    *k = (work_kernel){.tier = f[1], .isa = f[2], .symbol = f[3]};
    k->hash = f[4];
    k->op = f[5];
    k->config = f[6];
    k->standing = strcmp(f[7], "1") == 0;
    k->limits = f[8];
    k->calls = r->part;
    k->n_calls = split(f[9], ';', r->part);
    r->part += k->n_calls;
    if (k->n_calls == 0)
        return fail(r, "a kernel without calls");
    name_of(name, 's', k->tier, k->isa, k->symbol);
    return add_name(r, name, index);
}

static bool read_key(reader *r, char **f, int n)
{
    char name[MAX_NAME];
    if (n != FIELDS_KEY)
        return fail(r, "a key line has 9 fields: key, tier, ISA, key, ranges, "
                       "op, configs, standing, call");
    int index = r->w->n_keys++;
    work_key *k = &r->w->keys[index];
    *k = (work_key){.tier = f[1], .isa = f[2], .key = f[3]};
    k->ranges = f[4];
    k->op = f[5];
    k->configs = r->part;
    k->n_configs = split(f[6], ',', r->part);
    r->part += k->n_configs;
    k->standing = f[7];
    k->call = f[8];
    if (k->n_configs == 0)
        return fail(r, "a key without configs");
    name_of(name, 'k', k->tier, k->isa, k->key);
    return add_name(r, name, index);
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

const work_kernel *worklist_kernel(const worklist *w, const char *tier,
                                   const char *isa, const char *symbol)
{
    char name[MAX_NAME];
    name_of(name, 's', tier, isa, symbol);
    int i = table_get(&w->by_name, name, -1);
    return i < 0 ? NULL : &w->kernels[i];
}

const work_key *worklist_key(const worklist *w, const char *tier,
                             const char *isa, const char *key)
{
    char name[MAX_NAME];
    name_of(name, 'k', tier, isa, key);
    int i = table_get(&w->by_name, name, -1);
    return i < 0 ? NULL : &w->keys[i];
}

/* Lists are alike, so what is common is soon found. */
bool worklist_share_calls(const work_kernel *a, const work_kernel *b)
{
    if (strcmp(a->op, b->op) != 0)
        return false;
    for (int i = 0; i < a->n_calls; i++)
        for (int k = 0; k < b->n_calls; k++)
            if (strcmp(a->calls[i], b->calls[k]) == 0)
                return true;
    return false;
}
