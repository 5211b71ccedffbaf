/* process.c: fork-after-init and replay-after-warm-up. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "lie.h"

#define SECONDS 20
#define REPLAYS 1000

static const char one_call[] = "silu x=f32[40000] y=f32[40000]";

static bool is_right(trial *t, kiln_context *ctx)
{
    return ctx && trial_run(t, ctx) && trial_judge(t);
}

/* 0 when the child got what it should. */
static int wait_for(pid_t child)
{
    int status = -1;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    return status;
}

/* Both sides of a fork make their first call. */
static bool fork_before_use(trial *t)
{
    kiln_context *ctx;
    bool good;
    pid_t child = fork();

    if (child == 0) {
        alarm(SECONDS);
        _exit(!is_right(t, cases_context(NULL, 2)));
    }
    ctx = cases_context(NULL, 2);
    good = is_right(t, ctx);
    kiln_context_destroy(ctx);
    return wait_for(child) == 0 && good;
}

static int call_in_child(trial *t, kiln_context *ctx)
{
    const call *c = &t->call;
    kiln_context *own;
    kiln_status status =
        kiln_run(ctx, c->op, c->list, c->n_tensors, c->attrs, c->n_attrs, NULL);

    if (status != KILN_FORKED || !strstr(kiln_last_error(), "forked")) {
        return 1;
    }
    kiln_context_destroy(ctx);
    own = cases_context(NULL, 2);
    return is_right(t, own) ? 0 : 2;
}

static bool fork_after_use(trial *t)
{
    kiln_context *ctx = cases_context(NULL, 2);
    bool good = is_right(t, ctx);

    for (int i = 0; i < 3 && good; i++) {
        pid_t child = fork();

        if (child == 0) {
            alarm(SECONDS);
            _exit(call_in_child(t, ctx));
        }
        good = wait_for(child) == 0 && is_right(t, ctx);
    }
    kiln_context_destroy(ctx);
    return good;
}

/* A prepared plan run again and again on new contents; mallocs: those of
 * enqueue. */
static bool replay(trial *t, const kiln_plan *plan, long *mallocs)
{
    void *data[CALL_MAX_TENSORS];
    bool good = true;

    for (int i = 0; i < t->call.n_tensors; i++) {
        data[i] = t->call.tensors[i].tensor.data;
    }
    for (int i = 0; i < REPLAYS && good; i++) {
        long before;

        trial_fill(t, (uint64_t)i);
        before = lie_mallocs();
        good = kiln_plan_enqueue(plan, data, NULL, NULL) == KILN_OK;
        *mallocs += lie_mallocs() - before;
        call_gather(trial_output(t), t->got);
        call_paint(trial_output(t), CASES_POISON);
        good = good && trial_truth(t) && trial_judge(t);
    }
    return good;
}

static bool replay_call(trial *t, const char *text, kiln_context *ctx)
{
    const call *c = &t->call;
    kiln_plan *plan = NULL;
    long mallocs = 0;
    bool good = trial_open(t, text, false);

    good = good &&
           kiln_plan_create(&plan, ctx, c->op, c->list, c->n_tensors, c->attrs,
                            c->n_attrs) == KILN_OK &&
           kiln_plan_prepare(plan, NULL) == KILN_OK &&
           kiln_plan_workspace(plan) == 0 && replay(t, plan, &mallocs);
    kiln_plan_destroy(plan);
    if (!good) {
        return trial_fail(t, "%s", kiln_last_error());
    }
    return mallocs == 0 || trial_fail(t, "%ld allocations", mallocs);
}

static void check_replays(tally *all, trial *t)
{
    static const char *const calls[] = {
        "relu x=f32[20000] y=f32[20000]",
        "softmax x=f16[9,100] y=f16[9,100] dim=-1",
        "log_softmax x=f32[100,9] y=f32[100,9] dim=0",
        "add a=bf16[7,1] b=bf16[300] y=bf16[7,300] alpha=2.0",
    };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        kiln_context *ctx = cases_context(NULL, 2);
        char name[128];
        bool good = ctx && replay_call(t, calls[i], ctx);

        snprintf(name, sizeof name, "replay-after-warm-up: %s", calls[i]);
        tally_add(all, good, name, t->problem);
        kiln_context_destroy(ctx);
    }
}

void cases_process(tally *all)
{
    trial t = {.room = 0};
    bool good = trial_open(&t, one_call, false);

    trial_fill(&t, 1);
    good = good && trial_truth(&t);
    fflush(stdout);
    tally_add(all, good && fork_before_use(&t),
              "fork-after-init: a fork before any call", t.problem);
    tally_add(all, good && fork_after_use(&t),
              "fork-after-init: the child is refused, the parent works",
              t.problem);
    check_replays(all, &t);
    trial_close(&t);
}
