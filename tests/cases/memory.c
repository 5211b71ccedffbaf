/* memory.c: every allocation of a context, a plan, its preparation and a whole
 * call refused in turn, for each op: the status says so, nothing is kept,
 * nothing is tried again, and the next call is right. Once a context is given
 * an allocator, the library asks malloc for nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "forms.h"
#include "lie.h"

typedef struct ration {
    long calls;
    long live;
    long refuse; /* this one; 0: none */
    bool rest;   /* and all after it */
} ration;

static void *ration_allocate(void *user, size_t bytes)
{
    ration *r = user;
    long n = ++r->calls;

    if (r->refuse > 0 && (n == r->refuse || (r->rest && n > r->refuse))) {
        return NULL;
    }
    r->live++;
    return calloc(1, bytes);
}

static void ration_release(void *user, void *memory)
{
    if (memory) {
        ((ration *)user)->live--;
        free(memory);
    }
}

static void refuse(ration *r, long first, bool rest)
{
    r->calls = 0;
    r->refuse = first;
    r->rest = rest;
}

static kiln_status open_context(kiln_context **ctx, ration *r)
{
    const kiln_allocator allocator = {ration_allocate, ration_release, r};
    kiln_options options = {
        .size = sizeof options, .threads = 2, .allocator = &allocator};

    return kiln_context_create(ctx, (DLDevice){kDLCPU, 0}, &options);
}

static bool check_contexts(trial *t)
{
    ration r = {0};
    kiln_context *ctx = NULL;

    for (long n = 1; n < 1000; n++) {
        refuse(&r, n, n % 2 == 0);
        kiln_status status = open_context(&ctx, &r);
        if (status == KILN_OK) {
            bool reached = r.calls < n;
            kiln_context_destroy(ctx);
            return (reached && n > 1 && r.live == 0) ||
                   trial_fail(t, "context: refusal %ld was passed over", n);
        }
        if (status != KILN_OUT_OF_MEMORY || ctx || r.live != 0 ||
            !strstr(kiln_last_error(), "memory refused")) {
            return trial_fail(t, "context: allocation %ld: %s: %s", n,
                              kiln_status_name(status), kiln_last_error());
        }
    }
    return trial_fail(t, "context: it never ends");
}

static kiln_status create(trial *t, kiln_context *ctx, kiln_plan **plan)
{
    const call *c = &t->call;

    return kiln_plan_create(plan, ctx, c->op, c->list, c->n_tensors, c->attrs,
                            c->n_attrs);
}

/* The n-th allocation of plan creation refused. *done: there is no n-th. */
static bool check_refusal(trial *t, kiln_context *ctx, ration *r, long n,
                          bool *done)
{
    const long held = r->live;
    kiln_plan *plan = NULL;

    refuse(r, n, n % 2 == 0);
    kiln_status status = create(t, ctx, &plan);
    *done = r->calls < n;
    refuse(r, 0, false);
    kiln_plan_destroy(plan);
    if (r->live != held) {
        return trial_fail(t, "allocation %ld: %ld are kept", n, r->live - held);
    }
    if (*done) {
        return status == KILN_OK || trial_fail(t, "%s", kiln_last_error());
    }
    return (status == KILN_OUT_OF_MEMORY && !plan &&
            strstr(kiln_last_error(), t->call.op) &&
            strstr(kiln_last_error(), "allocation of")) ||
           trial_fail(t, "allocation %ld: %s: %s", n, kiln_status_name(status),
                      kiln_last_error());
}

/* Prepare, enqueue and what tells of a plan ask for nothing. */
static bool check_prepared(trial *t, kiln_context *ctx, ration *r)
{
    kiln_plan *plan = NULL;
    kiln_cost cost = {0};
    char text[CASES_DESCRIBE];
    bool good = create(t, ctx, &plan) == KILN_OK;

    refuse(r, 1, true);
    good = good && kiln_plan_prepare(plan, NULL) == KILN_OK &&
           kiln_plan_cost(plan, &cost) == KILN_OK &&
           kiln_plan_describe(plan, text, sizeof text) == KILN_OK &&
           trial_enqueue(t, plan) && trial_judge(t);
    good = good && r->calls == 0;
    refuse(r, 0, false);
    kiln_plan_destroy(plan);
    return good || trial_fail(t, "prepare or enqueue: %s", kiln_last_error());
}

static bool check_call(trial *t, kiln_context *ctx, ration *r)
{
    bool done = false;
    long n = 0;

    while (!done && ++n < 1000) {
        if (!check_refusal(t, ctx, r, n, &done)) {
            return false;
        }
    }
    if (n < 2) {
        return trial_fail(t, "a plan without an allocation");
    }
    return check_prepared(t, ctx, r) && trial_run(t, ctx) && trial_judge(t);
}

static bool open_form(const form *f, trial *t)
{
    const char *dtypes[FORMS_TENSORS];
    char text[CALL_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", f->op);

    forms_pick_dtypes(f, 2, dtypes);
    for (int i = 0; i <= forms_inputs(f); i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " %s=%s[300,101]",
                             forms_name(f, i), dtypes[i]);
    }
    if (!trial_open(t, text, false)) {
        return false;
    }
    trial_fill(t, 5);
    return trial_truth(t);
}

static bool check_form(const form *f, trial *t)
{
    ration r = {0};
    kiln_context *ctx = NULL;
    bool good = open_form(f, t);
    const long before = lie_mallocs();

    if (good && open_context(&ctx, &r) != KILN_OK) {
        return trial_fail(t, "%s", kiln_last_error());
    }
    good = good && check_call(t, ctx, &r);
    kiln_context_destroy(ctx);
    if (good && r.live != 0) {
        return trial_fail(t, "%ld allocations are left", r.live);
    }
    return good && (lie_mallocs() == before ||
                    trial_fail(t, "%ld calls of malloc beside the allocator",
                               lie_mallocs() - before));
}

void cases_memory(tally *all)
{
    trial t = {.room = 0};
    char name[128];

    tally_add(all, open_form(&forms[0], &t) && check_contexts(&t),
              "refused allocations: a context", t.problem);
    for (int f = 0; f < n_forms; f++) {
        bool good = check_form(&forms[f], &t);
        snprintf(name, sizeof name,
                 "refused allocations: plan, prepare and call of %s",
                 forms[f].op);
        tally_add(all, good, name, t.problem);
    }
    trial_close(&t);
}
