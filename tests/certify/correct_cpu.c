#include <string.h>

#include "trial.h"

#define THREADS 2

static bool cpu_open(trial *t)
{
    char why[CORRECT_TEXT];
    const work_kernel *k = t->kernel;
    for (int i = 0; i < 2; i++) {
        t->contexts[i] = contexts_open(k->tier, k->isa, k->config,
                                       i ? THREADS : 1, why, sizeof why);
        if (!t->contexts[i])
            return trial_fail(t, "context", "%s", why);
    }
    return true;
}

static bool cpu_place(trial *t, int set)
{
    return call_place(&t->call, &t->buffers, set == 1) ||
           trial_fail_in(t, "memory", "no memory for tensors");
}

static bool check_inputs(trial *t)
{
    for (int i = 0; i < t->n_in; i++) {
        const DLTensor *x = t->call.list[i];
        int64_t low, high;
        if (!x)
            continue;
        call_extent(x, &low, &high);
        if (memcmp(t->sample->inputs[i], (char *)x->data + low,
                   (size_t)(high - low)) != 0)
            return trial_fail_in(t, "inputs", "an input was written to");
    }
    return true;
}

static bool run_once(trial *t, const kiln_plan *plan, int poison, char **dense)
{
    size_t bytes = kiln_plan_workspace(plan);
    void *workspace = NULL;
    if (bytes > 0) {
        workspace = guard_place(&t->workspace, 0, (int64_t)bytes, false);
        if (!workspace)
            return trial_fail_in(t, "memory", "no memory for the workspace");
        guard_fill(&t->workspace, poison);
    }
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        guard_fill(&t->buffers.guards[i], poison);
    if (kiln_plan_enqueue(plan, NULL, workspace, NULL) != KILN_OK)
        return trial_fail_in(t, "enqueue", kiln_last_error());
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (!trial_take(t, i, poison, dense[i]))
            return false;
    return true;
}

/* Two runs on THREADS threads, then one on one thread. */
static bool cpu_run(trial *t)
{
    const DLTensor *const *list = t->call.list;
    const int *poison = trial_poison;
    kiln_plan *two = trial_plan(t, t->contexts[1], list, NULL);
    kiln_plan *one = two ? trial_plan(t, t->contexts[0], list, NULL) : NULL;
    bool good = two && one && run_once(t, two, poison[0], t->bits) &&
                trial_judge(t) && run_once(t, two, poison[1], t->again) &&
                trial_same(t, "repeat") &&
                run_once(t, one, poison[2], t->again) &&
                trial_same(t, "threads") && check_inputs(t);
    kiln_plan_destroy(one);
    kiln_plan_destroy(two);
    return good;
}

static void cpu_end_call(trial *t)
{
    (void)t;
}

static void cpu_close(trial *t)
{
    kiln_context_destroy(t->contexts[0]);
    kiln_context_destroy(t->contexts[1]);
    guard_release(&t->workspace);
}

const trial_way trial_cpu = {cpu_open, cpu_place, cpu_run, cpu_end_call,
                             cpu_close};
