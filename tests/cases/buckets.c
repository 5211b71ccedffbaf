/* buckets.c: bucket-boundaries: every op at the sizes around every bucket's
 * edge, in buffers that end at an unmapped page; past the largest edge the
 * call is refused by name. Ladders and limit come from the command line; what
 * follows from them is worked out here once more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buckets.h"

static bool read_ladder(ladder *l, const char *text)
{
    char *end;

    for (l->n = 0; l->n < BUCKETS_EDGES && *text; l->n++) {
        l->edges[l->n] = strtoll(text, &end, 10);
        if (end == text) {
            return false;
        }
        text = end + (*end == ',');
    }
    return l->n > 0 && *text == '\0';
}

/* The bucket's upper edge; 0 past the last. */
int64_t buckets_edge(const ladder *l, int64_t size)
{
    for (int i = 0; i < l->n; i++) {
        if (size <= l->edges[i]) {
            return l->edges[i];
        }
    }
    return 0;
}

/* 1, 2, 3 and all edges and their neighbours up to `most`. */
int buckets_sizes(const ladder *l, int64_t most, int64_t *sizes)
{
    int n = 0;

    for (int64_t i = 1; i <= 3; i++) {
        sizes[n++] = i;
    }
    for (int i = 0; i < l->n; i++) {
        for (int64_t size = l->edges[i] - 1; size <= l->edges[i] + 1; size++) {
            if (size <= most) {
                sizes[n++] = size;
            }
        }
    }
    return n;
}

int64_t buckets_last(const ladder *l)
{
    return l->edges[l->n - 1];
}

bool buckets_fail(bench *b, const char *text, const char *what, const char *got)
{
    snprintf(b->problem, sizeof b->problem, "%.300s: %.100s: %.1000s", text,
             what, got);
    return false;
}

/* --- one call ------------------------------------------------------------- */

/* Plans alone. key: that of its first launch, or the text of the refusal. */
kiln_status buckets_plan(kiln_context *ctx, const char *text, char *key,
                         size_t cap)
{
    char kernel[256], why[512];
    call c;
    kiln_plan *plan = NULL;
    kiln_status status;

    if (!call_parse(&c, text, why, sizeof why)) {
        snprintf(key, cap, "%s", why);
        return KILN_INTERNAL;
    }
    status = kiln_plan_create(&plan, ctx, c.op, c.list, c.n_tensors, c.attrs,
                              c.n_attrs);
    if (status != KILN_OK) {
        snprintf(key, cap, "%s", kiln_last_error());
    } else if (!cases_describe(plan, key, kernel,
                               cap < sizeof kernel ? cap : sizeof kernel)) {
        status = KILN_INTERNAL;
    }
    kiln_plan_destroy(plan);
    return status;
}

/* The key names the bucket that holds size. A census cell's edge is none of
 * the ladder's, and not below size. */
bool buckets_holds(const char *key, const char *axis, const ladder *l,
                   int64_t size)
{
    char lead[16];
    const char *at;
    int64_t edge;

    snprintf(lead, sizeof lead, " %s=", axis);
    at = strstr(key, lead);
    if (!at) {
        return false;
    }
    edge = strtoll(at + strlen(lead), NULL, 10);
    return edge == buckets_edge(l, size) ||
           (edge >= size && buckets_edge(l, edge) != edge);
}

bool buckets_refused(bench *b, const char *text, const char *name)
{
    char why[4096];
    kiln_status status = buckets_plan(b->contexts[0], text, why, sizeof why);

    b->calls++;
    if (status != KILN_UNCERTIFIED) {
        return buckets_fail(b, text, "not refused", kiln_status_name(status));
    }
    return strstr(why, name) != NULL ||
           buckets_fail(b, text, "refused, but not by name", why);
}

/* Runs text on every ISA against the truth. */
bool buckets_call(bench *b, const char *text)
{
    trial *t = &b->trial;
    bool good = trial_open(t, text, true);

    b->calls++;
    if (good) {
        trial_fill(t, (uint64_t)b->calls);
        good = trial_truth(t);
    }
    for (int i = 0; i < 2 && good; i++) {
        good =
            !b->contexts[i] || (trial_run(t, b->contexts[i]) && trial_judge(t));
    }
    if (!good) {
        snprintf(b->problem, sizeof b->problem, "%.1000s", t->problem);
    }
    return good;
}

/* --- all ------------------------------------------------------------------ */

const buckets_dtype buckets_dtypes[BUCKETS_DTYPES] = {
    {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};

void cases_buckets(tally *all, int64_t cap, char *const ladders[3],
                   int64_t lattice_bytes)
{
    bench *b = calloc(1, sizeof *b);

    if (!b || lattice_bytes <= 0 || !read_ladder(&b->elements, ladders[0]) ||
        !read_ladder(&b->rows, ladders[1]) ||
        !read_ladder(&b->cols, ladders[2])) {
        tally_add(all, false, "bucket-boundaries", "no ladders");
        free(b);
        return;
    }
    b->cap = cap;
    b->lattice_bytes = lattice_bytes;
    b->contexts[0] = cases_context("base", 2);
    b->contexts[1] = cases_context("avx2", 2);
    buckets_map(all, b);
    buckets_rows(all, b);
    kiln_context_destroy(b->contexts[0]);
    kiln_context_destroy(b->contexts[1]);
    trial_close(&b->trial);
    free(b);
}
