#include "cases.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h" /* written by tests/cases_lib.sh */

#define FILL_SCALE 3

const char *const cases_isas[] = {"base", "avx2", NULL};

void tally_add(tally *t, bool good, const char *name, const char *why)
{
    printf("%sok %s\n", good ? "" : "not ", name);
    if (!good) {
        printf("# %s\n", why);
        t->failed++;
    }
    fflush(stdout);
}

void tally_skip(const char *name, const char *why)
{
    printf("ok %s # SKIP %s\n", name, why);
}

void tally_missing(const char *command)
{
    for (const char *const *isa = cases_isas; *isa; isa++) {
        kiln_context *ctx = cases_context(*isa, 1);
        char name[64];

        snprintf(name, sizeof name, "%s on %s", command, *isa);
        if (!ctx) {
            tally_skip(name, "not on this processor");
        }
        kiln_context_destroy(ctx);
    }
}

/* By the compiler's own look, not the library's. */
static bool has_isa(const char *isa)
{
#if defined(__x86_64__)
    if (isa != NULL && strcmp(isa, "avx2") == 0) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
#endif
    return isa == NULL || strcmp(isa, "base") == 0;
}

kiln_context *cases_context(const char *isa, int threads)
{
    kiln_options options = {
        .size = sizeof options, .isa = isa, .threads = threads};
    kiln_context *ctx = NULL;
    kiln_status status =
        kiln_context_create(&ctx, (DLDevice){kDLCPU, 0}, &options);

    if (status == KILN_OK
            ? !has_isa(isa)
            : has_isa(isa) || status != KILN_DEVICE_ERROR ||
                  !strstr(kiln_last_error(), "this processor does not run")) {
        printf("not ok a context of %s\n# %s\n", isa ? isa : "any ISA",
               status == KILN_OK ? "not of this processor, and yet made"
                                 : kiln_last_error());
        exit(1);
    }
    return ctx;
}

static void find_text(const char *text, const char *lead, const char *stops,
                      char *value, size_t cap)
{
    const char *at = strstr(text, lead);

    at = at ? at + strlen(lead) : "-";
    snprintf(value, cap, "%.*s", (int)strcspn(at, stops), at);
}

bool cases_describe(const kiln_plan *plan, char *key, char *kernel, size_t cap)
{
    char text[CASES_DESCRIBE];

    if (kiln_plan_describe(plan, text, sizeof text) != KILN_OK) {
        return false;
    }
    find_text(text, "launch 0: ", "\n", key, cap);
    find_text(text, "  kernel ", ",", kernel, cap);
    return true;
}

/* --- one call ------------------------------------------------------------- */

bool trial_fail(trial *t, const char *format, ...)
{
    size_t n = (size_t)snprintf(t->problem, sizeof t->problem,
                                "%.300s: ", t->call.text);
    va_list list;

    va_start(list, format);
    vsnprintf(t->problem + n, sizeof t->problem - n, format, list);
    va_end(list);
    return false;
}

DLTensor *trial_output(trial *t)
{
    return &t->call.tensors[t->call.n_tensors - 1].tensor;
}

static guard *output_guard(trial *t)
{
    return &t->buffers.guards[t->call.n_tensors - 1];
}

static bool make_room(trial *t)
{
    size_t n = (size_t)truth_numel(trial_output(t));

    if (n <= t->room && t->want) {
        return true;
    }
    free(t->want);
    free(t->got);
    t->want = malloc((n + 1) * sizeof *t->want);
    t->got = malloc((n + 1) * sizeof(double));
    t->room = n;
    return (t->want && t->got) || trial_fail(t, "no memory");
}

bool trial_open(trial *t, const char *text, bool flush)
{
    char why[512];

    if (!call_parse(&t->call, text, why, sizeof why)) {
        return trial_fail(t, "%s", why);
    }
    assert(t->call.n_tensors >= 2);
    if (!call_place(&t->call, &t->buffers, flush)) {
        return trial_fail(t, "no memory");
    }
    for (int i = 0; i < t->call.n_tensors; i++) {
        guard_fill(&t->buffers.guards[i], CASES_POISON);
    }
    return make_room(t);
}

void trial_fill(trial *t, uint64_t seed)
{
    for (int i = 0; i < t->call.n_tensors - 1; i++) {
        fill_normal(&t->call.tensors[i].tensor, FILL_SCALE,
                    seed * CALL_MAX_TENSORS + (uint64_t)i);
    }
}

/* Nothing but the output's elements was written. */
static bool check_beside(trial *t)
{
    int64_t at = 0;

    call_gather(trial_output(t), t->got);
    call_paint(trial_output(t), CASES_POISON);
    return !guard_find_other(output_guard(t), CASES_POISON, &at) ||
           trial_fail(t, "byte %lld beside the output was written",
                      (long long)at);
}

bool trial_enqueue(trial *t, const kiln_plan *plan)
{
    void *data[CALL_MAX_TENSORS];
    int64_t bytes = (int64_t)kiln_plan_workspace(plan);
    void *workspace = guard_place(&t->workspace, 0, bytes, false);

    if (!workspace) {
        return trial_fail(t, "no memory for the workspace");
    }
    for (int i = 0; i < t->call.n_tensors; i++) {
        data[i] = t->call.tensors[i].tensor.data;
    }
    guard_fill(&t->workspace, CASES_POISON);
    guard_fill(output_guard(t), CASES_POISON);
    if (kiln_plan_enqueue(plan, data, workspace, NULL) != KILN_OK) {
        return trial_fail(t, "%s", kiln_last_error());
    }
    return check_beside(t);
}

kiln_plan *trial_plan(trial *t, kiln_context *ctx)
{
    const call *c = &t->call;
    kiln_plan *plan = NULL;

    if (kiln_plan_create(&plan, ctx, c->op, c->list, c->n_tensors, c->attrs,
                         c->n_attrs) != KILN_OK ||
        kiln_plan_prepare(plan, NULL) != KILN_OK) {
        trial_fail(t, "%s", kiln_last_error());
        kiln_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

bool trial_run(trial *t, kiln_context *ctx)
{
    kiln_plan *plan = trial_plan(t, ctx);
    bool good = plan && trial_enqueue(t, plan);

    kiln_plan_destroy(plan);
    return good;
}

/* --- truth ---------------------------------------------------------------- */

bool trial_truth(trial *t)
{
    const call *c = &t->call;

    return truth_eval(c->op, c->list, c->n_tensors, c->attrs, c->n_attrs, 0,
                      t->want) == TRUTH_OK ||
           trial_fail(t, "the truth knows no such call");
}

/* The op's own of its output's dtype, in limits.h. */
static bool find_limits(trial *t, judge_limits *limits)
{
    for (size_t i = 0; i < sizeof limit_rows / sizeof *limit_rows; i++) {
        DLDataType type, of = trial_output(t)->dtype;
        const char *name = limit_rows[i].dtype;

        if (call_dtype(name, strlen(name), &type) && type.code == of.code &&
            type.bits == of.bits && strcmp(limit_rows[i].op, t->call.op) == 0) {
            *limits = (judge_limits){limit_rows[i].ulp, limit_rows[i].abs,
                                     limit_rows[i].l2};
            return true;
        }
    }
    return trial_fail(t, "spec/op has no limits for it");
}

bool trial_judge(trial *t)
{
    DLTensor dense = *trial_output(t);
    judge_limits limits;

    if (!find_limits(t, &limits)) {
        return false;
    }
    dense.data = t->got;
    dense.byte_offset = 0;
    dense.strides = NULL;
    judge_tensor(&dense, t->want, &limits, &t->report);
    if (t->report.share <= 1) {
        return true;
    }
    return t->report.index < 0
               ? trial_fail(t, "the l2 error is %.3g", t->report.l2)
               : trial_fail(t,
                            "element %lld is %.9g, not %.9g: %.3g of its "
                            "limit",
                            (long long)t->report.index, t->report.got,
                            t->report.want, t->report.share);
}

void trial_close(trial *t)
{
    call_release(&t->buffers);
    guard_release(&t->workspace);
    free(t->want);
    free(t->got);
    *t = (trial){.room = 0};
}
