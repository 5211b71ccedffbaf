/* buckets_map.c: the elementwise ops at their buckets' edges. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buckets.h"

typedef struct form {
    const char *op;
    const char *inputs[3]; /* "cond" is bool, the others of one dtype */
    const char *attrs;
    bool converts; /* the output may be of any dtype */
} form;

static const form forms[] = {
    {"add", {"a", "b"}, " alpha=0.5", false},
    {"copy", {"x"}, "", true},
    {"exp", {"x"}, "", false},
    {"gelu", {"x"}, " approximate=none", false},
    {"gelu", {"x"}, " approximate=tanh", false},
    {"mul", {"a", "b"}, "", false},
    {"relu", {"x"}, "", false},
    {"sigmoid", {"x"}, "", false},
    {"silu", {"x"}, "", false},
    {"tanh", {"x"}, "", false},
    {"where", {"cond", "a", "b"}, "", false},
};

/* shape: "[2,3]:[4,1]", of all tensors. */
static void form_text(const form *f, int from, int to, const char *shape,
                      char *text, size_t cap)
{
    size_t n = (size_t)snprintf(text, cap, "%s", f->op);

    for (int i = 0; i < 3 && f->inputs[i]; i++) {
        const char *name = f->inputs[i];
        n += (size_t)snprintf(
            text + n, cap - n, " %s=%s%s", name,
            strcmp(name, "cond") == 0 ? "bool" : buckets_dtypes[from].name,
            shape);
    }
    snprintf(text + n, cap - n, " y=%s%s%s", buckets_dtypes[to].name, shape,
             f->attrs);
}

static bool check_size(bench *b, const form *f, int from, int to, int64_t n)
{
    char shape[4][64], text[CALL_TEXT], key[512];
    int count = 0;

    snprintf(shape[count++], 64, "[%" PRId64 "]", n);
    if (n <= BUCKETS_GENERAL) {
        snprintf(shape[count++], 64, "[%" PRId64 "]:[2]", n);
    }
    for (int64_t r = 2; r <= 3 && n <= BUCKETS_GENERAL; r++) {
        if (n % r == 0 && n > r) {
            snprintf(shape[count++], 64,
                     "[%" PRId64 ",%" PRId64 "]:[%" PRId64 ",1]", r, n / r,
                     n / r + 5);
        }
    }
    for (int i = 0; i < count; i++) {
        form_text(f, from, to, shape[i], text, sizeof text);
        if (!buckets_call(b, text)) {
            return false;
        }
        if (buckets_plan(b->contexts[0], text, key, sizeof key) != KILN_OK ||
            !buckets_holds(key, "n", &b->elements, n)) {
            return buckets_fail(b, text, "another bucket", key);
        }
    }
    return true;
}

static bool check_form(bench *b, const form *f, int from, int to)
{
    const int64_t limits[] = {b->lattice_bytes / buckets_dtypes[to].size,
                              buckets_last(&b->elements)};
    const int64_t limit = limits[limits[1] < limits[0]];
    const int64_t past[] = {limit + 1, 10 * buckets_last(&b->elements)};
    int64_t sizes[BUCKETS_SIZES];
    int n = buckets_sizes(&b->elements, b->cap < limit ? b->cap : limit, sizes);
    bool good = true;

    for (int i = 0; i < n && good; i++) {
        good = check_size(b, f, from, to, sizes[i]);
    }
    for (int i = 0; i < 2 && good; i++) {
        char shape[32], text[CALL_TEXT], name[64];
        snprintf(shape, sizeof shape, "[%" PRId64 "]", past[i]);
        form_text(f, from, to, shape, text, sizeof text);
        snprintf(name, sizeof name, "%s/", f->op);
        good = buckets_refused(b, text, name);
    }
    return good;
}

/* All sizes past the cap and up to `most` of one op whose truth is quick. */
static bool check_large(bench *b, int dtype, int64_t most)
{
    static const form relu = {"relu", {"x"}, "", false};
    int64_t sizes[BUCKETS_SIZES];
    int n = buckets_sizes(&b->elements, most, sizes);
    bool good = true;

    for (int i = 0; i < n && good && b->cap > BUCKETS_GENERAL; i++) {
        good =
            sizes[i] <= b->cap || check_size(b, &relu, dtype, dtype, sizes[i]);
    }
    return good;
}

void buckets_map(tally *all, bench *b)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char name[128];
        bool good = true;

        b->calls = 0;
        for (int from = 0; from < BUCKETS_DTYPES && good; from++) {
            for (int to = 0; to < BUCKETS_DTYPES && good; to++) {
                good = (from != to && !forms[i].converts) ||
                       check_form(b, &forms[i], from, to);
            }
        }
        snprintf(name, sizeof name,
                 "bucket-boundaries: %s%s, %" PRId64 " calls", forms[i].op,
                 forms[i].attrs, b->calls);
        tally_add(all, good, name, b->problem);
    }
    b->calls = 0;
    bool good = check_large(b, 1, INT64_C(1) << 24) &&
                check_large(b, 2, INT64_C(1) << 22);
    char name[128];
    snprintf(name, sizeof name,
             "bucket-boundaries: large relu, %" PRId64 " calls", b->calls);
    tally_add(all, good, name, b->problem);
}
