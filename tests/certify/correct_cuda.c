/* Host buffers mirror the device's: what is uploaded from one, or downloaded
 * to it, is looked at there as on the cpu. */
#include <stdlib.h>
#include <string.h>

#include "trial.h"

#define BAND 4096 /* poison before and after what a kernel may write */

static gpu *gpu_of(const trial *t)
{
    return &t->correct->gpu;
}

static bool fail_device(trial *t)
{
    return trial_fail_in(t, "device", gpu_of(t)->why);
}

static bool is_once(const trial *t)
{
    return t->way == &trial_cuda_once;
}

static bool cuda_open(trial *t)
{
    char why[CORRECT_TEXT];
    const work_kernel *k = t->kernel;
    correct *c = t->correct;
    if (!c->gpu.context && !gpu_open(&c->gpu))
        return trial_fail(t, "context", "%s", c->gpu.why);
    t->contexts[0] =
        contexts_get(&c->contexts, k->tier, k->isa, k->config, why, sizeof why);
    return t->contexts[0] || trial_fail(t, "context", "%s", why);
}

/* --- memory --------------------------------------------------------------- */

static kiln_cu_pointer address(const mirror *m, int64_t offset)
{
    return m->base + (kiln_cu_pointer)offset;
}

static size_t bytes_of(const mirror *m)
{
    return (size_t)(m->high - m->low);
}

/* For bytes [low, high) around a base, with bands unless to the byte. */
static bool fit(trial *t, mirror *m, int64_t low, int64_t high)
{
    int64_t band = is_once(t) ? 0 : BAND;
    m->low = low - band;
    m->high = high + band;
    int64_t below = (-m->low + GPU_ALIGN - 1) / GPU_ALIGN * GPU_ALIGN;
    if (!gpu_fit(gpu_of(t), &m->memory, (size_t)(below + m->high), is_once(t)))
        return fail_device(t);
    m->base = m->memory.at + (kiln_cu_pointer)below;
    return true;
}

static bool place_tensor(trial *t, int i)
{
    int64_t low, high;
    mirror *m = &t->correct->mirrors[i];
    DLTensor *x = &t->call.tensors[i].tensor;
    call_extent(x, &low, &high);
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    if (!fit(t, m, low, high))
        return false;
    x->data = guard_place(&t->buffers.guards[i], m->low, m->high, false);
    if (!x->data)
        return trial_fail_in(t, "memory", "no memory for tensors");
    t->tensors[i] = *x;
    t->tensors[i].device = contexts_device(t->kernel->tier);
    t->tensors[i].data = (void *)(uintptr_t)m->base;
    t->list[i] = &t->tensors[i];
    return true;
}

/* Sets share the buffers: a graph holds their addresses. */
static bool cuda_place(trial *t, int set)
{
    if (set > 0)
        return true;
    for (int i = 0; i < t->call.n_tensors; i++) {
        t->list[i] = NULL;
        if (t->call.list[i] && !place_tensor(t, i))
            return false;
    }
    t->plan = trial_plan(t, t->contexts[0], t->list, gpu_of(t)->stream);
    return t->plan && fit(t, &t->correct->workspace, 0,
                          (int64_t)kiln_plan_workspace(t->plan));
}

/* --- copies --------------------------------------------------------------- */

static char *host_of(const trial *t, int i)
{
    return (char *)t->call.list[i]->data + t->correct->mirrors[i].low;
}

static bool upload(trial *t)
{
    for (int i = 0; i < t->n_in; i++) {
        const mirror *m = &t->correct->mirrors[i];
        if (t->call.list[i] &&
            !gpu_put(gpu_of(t), address(m, m->low), host_of(t, i), bytes_of(m)))
            return fail_device(t);
    }
    return true;
}

static bool check_input(trial *t, int i)
{
    const mirror *m = &t->correct->mirrors[i];
    gpu *g = gpu_of(t);
    char *now = malloc(bytes_of(m));
    if (!now)
        return trial_fail_in(t, "memory", "no memory for inputs");
    bool good = gpu_get(g, now, address(m, m->low), bytes_of(m)) && gpu_wait(g);
    if (!good)
        fail_device(t);
    else if (memcmp(now, host_of(t, i), bytes_of(m)) != 0)
        good = trial_fail_in(t, "inputs", "an input was written to");
    free(now);
    return good;
}

static bool check_inputs(trial *t)
{
    for (int i = 0; i < t->n_in; i++)
        if (t->call.list[i] && !check_input(t, i))
            return false;
    return true;
}

static bool poison_all(trial *t, int byte)
{
    gpu *g = gpu_of(t);
    const mirror *w = &t->correct->workspace;
    for (int i = t->n_in; i < t->n_in + t->n_out; i++) {
        const mirror *m = &t->correct->mirrors[i];
        if (!gpu_set(g, address(m, m->low), byte, bytes_of(m)))
            return fail_device(t);
    }
    return is_once(t) || gpu_set(g, address(w, w->low), byte, bytes_of(w)) ||
           fail_device(t);
}

static bool take_output(trial *t, int i, int byte, char *dense)
{
    gpu *g = gpu_of(t);
    const mirror *m = &t->correct->mirrors[i];
    guard_fill(&t->buffers.guards[i], byte);
    if (!gpu_get(g, host_of(t, i), address(m, m->low), bytes_of(m)) ||
        !gpu_wait(g))
        return fail_device(t);
    return trial_take(t, i, byte, dense);
}

/* The bands around the workspace. */
static bool check_workspace(trial *t, int byte)
{
    char bands[2 * BAND];
    gpu *g = gpu_of(t);
    const mirror *w = &t->correct->workspace;
    if (is_once(t))
        return true;
    if (!gpu_get(g, bands, address(w, w->low), BAND) ||
        !gpu_get(g, bands + BAND, address(w, w->high - BAND), BAND) ||
        !gpu_wait(g))
        return fail_device(t);
    for (size_t i = 0; i < sizeof bands; i++)
        if ((unsigned char)bands[i] != byte)
            return trial_fail_in(t, "stray write", "around the workspace");
    return true;
}

/* --- runs ----------------------------------------------------------------- */

static bool enqueue(trial *t)
{
    const mirror *w = &t->correct->workspace;
    void *workspace =
        kiln_plan_workspace(t->plan) ? (void *)(uintptr_t)w->base : NULL;
    return kiln_plan_enqueue(t->plan, NULL, workspace, gpu_of(t)->stream) ==
               KILN_OK ||
           trial_fail_in(t, "enqueue", kiln_last_error());
}

static bool capture(trial *t)
{
    gpu *g = gpu_of(t);
    if (!gpu_begin(g))
        return fail_device(t);
    bool good = enqueue(t);
    if (!gpu_end(g, &t->graph) && good)
        good = fail_device(t);
    return good;
}

static bool run_once(trial *t, int poison, bool replay, char **dense)
{
    if (!poison_all(t, poison))
        return false;
    if (!replay && !enqueue(t))
        return false;
    if (replay && !gpu_replay(gpu_of(t), t->graph))
        return fail_device(t);
    if (!gpu_wait(gpu_of(t)))
        return fail_device(t);
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (!take_output(t, i, poison, dense[i]))
            return false;
    return check_workspace(t, poison);
}

static bool cuda_run(trial *t)
{
    const int *poison = trial_poison;
    return upload(t) && run_once(t, poison[0], false, t->bits) &&
           trial_judge(t) && run_once(t, poison[1], false, t->again) &&
           trial_same(t, "repeat") && (t->graph || capture(t)) &&
           run_once(t, poison[2], true, t->again) && trial_same(t, "replay") &&
           run_once(t, poison[3], true, t->again) && trial_same(t, "replay") &&
           check_inputs(t);
}

static bool once_run(trial *t)
{
    return upload(t) && run_once(t, trial_poison[0], false, t->bits) &&
           trial_judge(t) && check_inputs(t);
}

static void cuda_end_call(trial *t)
{
    gpu_forget(gpu_of(t), t->graph);
    kiln_plan_destroy(t->plan);
    t->graph = NULL;
    t->plan = NULL;
}

static void cuda_close(trial *t)
{
    (void)t;
}

const trial_way trial_cuda = {cuda_open, cuda_place, cuda_run, cuda_end_call,
                              cuda_close};
const trial_way trial_cuda_once = {cuda_open, cuda_place, once_run,
                                   cuda_end_call, cuda_close};
