/* dispatch.c: dispatch-is-complete: every key that the specs declare, looked
 * up at run time by its call: a certified one finds its own kernel, any other
 * is refused by name.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

typedef struct list {
    char **lines; /* "isa \t key \t config", sorted */
    size_t n;
} list;

typedef struct search {
    list keys; /* of KEYS.tsv */
    kiln_context *contexts[2];
    size_t found;
    size_t refused;
    char problem[4096];
} search;

/* Cuts line at tabs; the count of fields, at most cap. */
static int split(char *line, char **fields, int cap)
{
    int n = 0;

    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && n < cap; n++) {
        fields[n] = strsep(&at, "\t");
    }
    return n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_key(list *keys, char *line)
{
    char *fields[5], *text = NULL;
    char **grown = realloc(keys->lines, (keys->n + 1) * sizeof *grown);

    if (!grown) {
        return false;
    }
    keys->lines = grown;
    if (split(line, fields, 5) < 5 ||
        asprintf(&text, "%s\t%s\t%s", fields[3], fields[1], fields[4]) < 0) {
        return false;
    }
    keys->lines[keys->n++] = text;
    return true;
}

static bool read_keys(list *keys, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    FILE *in = fopen(path, "r");
    bool good = in != NULL;

    while (good && getline(&line, &cap, in) > 0) {
        good = *line == '#' || !strstr(line, "\tcpu\t") || add_key(keys, line);
    }
    if (in) {
        fclose(in);
    }
    free(line);
    if (good) {
        qsort(keys->lines, keys->n, sizeof *keys->lines, by_text);
    }
    return good;
}

/* The config that KEYS.tsv names for a key, as its kernel's name ends, or
 * NULL. */
static const char *find_config(const list *keys, const char *isa,
                               const char *key)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s\t%s\t", isa, key);
    size_t low = 0, high = keys->n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(keys->lines[middle], text, (size_t)length);

        if (order == 0) {
            return keys->lines[middle] + length;
        }
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return NULL;
}

static bool fail(search *s, const char *key, const char *what, const char *got)
{
    snprintf(s->problem, sizeof s->problem, "%.300s: %.100s: %.2000s", key,
             what, got);
    return false;
}

static bool ends_with(const char *symbol, const char *config)
{
    size_t n = strlen(symbol), ending = strlen(config);

    return n > ending && symbol[n - ending - 1] == '_' &&
           strcmp(symbol + n - ending, config) == 0;
}

static bool check_found(search *s, const kiln_plan *plan, const char *key,
                        const char *config)
{
    char got[512], symbol[512];

    s->found++;
    if (!cases_describe(plan, got, symbol, sizeof got)) {
        return fail(s, key, "describe", kiln_last_error());
    }
    if (strcmp(got, key) != 0) {
        return fail(s, key, "another key", got);
    }
    return ends_with(symbol, config) || fail(s, key, "another kernel", symbol);
}

static bool check_refused(search *s, kiln_status status, const char *key)
{
    s->refused++;
    if (status != KILN_UNCERTIFIED && status != KILN_STALE) {
        return fail(s, key, "not certified, yet", kiln_status_name(status));
    }
    return strstr(kiln_last_error(), key) != NULL ||
           fail(s, key, "refused, but not by name", kiln_last_error());
}

/* key, tier, isa, key text, ranges, op, configs, standing, call */
static bool check_line(search *s, char *line)
{
    char *f[9], why[512];
    call c;
    kiln_plan *plan = NULL;

    if (split(line, f, 9) < 9) {
        return fail(s, line, "no line of keys", "");
    }
    kiln_context *ctx = s->contexts[strcmp(f[2], "base") != 0];
    if (!ctx) {
        return true;
    }
    if (!call_parse(&c, f[8], why, sizeof why)) {
        return fail(s, f[3], "no call", why);
    }
    const char *config = find_config(&s->keys, f[2], f[3]);
    kiln_status status = kiln_plan_create(&plan, ctx, c.op, c.list, c.n_tensors,
                                          c.attrs, c.n_attrs);
    bool good;
    if (!config) {
        good = check_refused(s, status, f[3]);
    } else {
        good = status == KILN_OK ? check_found(s, plan, f[3], config)
                                 : fail(s, f[3], "refused", kiln_last_error());
    }
    kiln_plan_destroy(plan);
    return good;
}

static bool check_lines(search *s, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    FILE *in = fopen(path, "r");
    bool good = in != NULL || fail(s, path, "cannot be read", "");

    while (good && getline(&line, &cap, in) > 0) {
        good = strncmp(line, "key\t", 4) != 0 || check_line(s, line);
    }
    if (in) {
        fclose(in);
    }
    free(line);
    return good;
}

void cases_dispatch(tally *all, const char *candidates, const char *keys)
{
    search s = {.found = 0};
    char name[160];
    bool good;

    s.contexts[0] = cases_context("base", 1);
    s.contexts[1] = cases_context("avx2", 1);
    good = (read_keys(&s.keys, keys) || fail(&s, keys, "no list", "")) &&
           check_lines(&s, candidates);
    if (good && s.contexts[1] && s.found != s.keys.n) {
        good = fail(&s, keys, "some keys no call reaches", "");
    }
    snprintf(name, sizeof name,
             "dispatch-is-complete: %zu keys found, %zu refused by name",
             s.found, s.refused);
    tally_add(all, good, name, s.problem);
    for (size_t i = 0; i < s.keys.n; i++) {
        free(s.keys.lines[i]);
    }
    free(s.keys.lines);
    kiln_context_destroy(s.contexts[0]);
    kiln_context_destroy(s.contexts[1]);
}
