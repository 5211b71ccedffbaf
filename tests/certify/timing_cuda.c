/* Times on a CUDA device. A sample is one replay of a graph of so many
 * enqueues that it lasts about SAMPLE_US, between two marks of the stream.
 * Samples of all arms are put into the stream at once, so that the device
 * never waits for the host. Buffers are warm: every enqueue has the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "timing_arm.h"

#define SAMPLE_US 200.0
#define MOST_REPEATS 20
#define BUDGET_US 10000.0 /* of a key, about */
#define WARM_UPS 2
#define MIN_ROUNDS 3
#define MAX_ROUNDS 5
#define BLOCK_BYTES ((size_t)4 << 20)

/* An arm that is so much slower than the best one, at runs long enough for
 * the rough time to count, is timed no further. */
#define HOPELESS 2.0
#define HOPELESS_US 50.0

_Static_assert(2 * TIMING_CONFIGS * MAX_ROUNDS <= GPU_MARKS, "marks");

static bool fail(timing *t)
{
    snprintf(t->why, t->cap, "%s", t->gpu.why);
    return false;
}

/* --- buffers -------------------------------------------------------------- */

/* All of the room, so that it serves the keys to come. */
static bool fill(timing *t, int i)
{
    const gpu_memory *m = &t->memory[i];
    DLDataType type = t->call.list[i]->dtype;
    size_t head = m->bytes < BLOCK_BYTES ? m->bytes : BLOCK_BYTES;
    if (timing_is_filled(t, i, m->bytes))
        return true;
    fill_raw(type, t->block, (int64_t)BLOCK_BYTES / truth_size(type),
             (uint64_t)i);
    return gpu_put(&t->gpu, m->at, t->block, head) &&
           gpu_repeat(&t->gpu, m->at, head, m->bytes);
}

static bool place_tensor(timing *t, int i)
{
    int64_t low, high;
    gpu_memory *m = &t->memory[i];
    call_extent(t->call.list[i], &low, &high);
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    int64_t below = (-low + GPU_ALIGN - 1) / GPU_ALIGN * GPU_ALIGN;
    if (!gpu_fit(&t->gpu, m, (size_t)(below + high), false))
        return false;
    t->data[i] = (void *)(uintptr_t)(m->at + (kiln_cu_pointer)below);
    return i >= t->n_in || fill(t, i);
}

static bool place_buffers(timing *t)
{
    size_t workspace = 0;
    if (!t->block)
        t->block = malloc(BLOCK_BYTES);
    if (!t->peek)
        t->peek = malloc((size_t)TIMING_PEEK * TIMING_PEEKS);
    if (!t->block || !t->peek) {
        snprintf(t->why, t->cap, "no memory for buffers");
        return false;
    }
    for (int i = 0; i < t->call.n_tensors; i++) {
        t->data[i] = NULL;
        if (t->call.list[i] && !place_tensor(t, i))
            return fail(t);
    }
    for (int i = 0; i < t->n_arms; i++) {
        size_t bytes = kiln_plan_workspace(t->arms[i].plan);
        workspace = bytes > workspace ? bytes : workspace;
    }
    return gpu_fit(&t->gpu, &t->workspace, workspace, false) || fail(t);
}

/* --- outputs -------------------------------------------------------------- */

/* Of n bytes from `from`: its first, its last, and places between; all where
 * they are few. */
static bool peek(timing *t, kiln_cu_pointer from, size_t n, uint64_t *hash)
{
    size_t most = (size_t)TIMING_PEEK * TIMING_PEEKS;
    size_t piece = n < most ? n / TIMING_PEEKS : TIMING_PEEK;
    size_t step = (n - piece) / (TIMING_PEEKS - 1);
    size_t taken = 0;
    if (n < most) {
        taken = n;
        if (!gpu_get(&t->gpu, t->peek, from, n))
            return false;
    }
    for (size_t i = 0; n >= most && i < TIMING_PEEKS; i++, taken += piece) {
        size_t at = i == TIMING_PEEKS - 1 ? n - piece : i * step;
        if (!gpu_get(&t->gpu, t->peek + taken, from + at, piece))
            return false;
    }
    if (!gpu_wait(&t->gpu))
        return false;
    *hash = *hash * 31 + timing_hash(t->peek, taken);
    return true;
}

static bool hash_outputs(timing *t, uint64_t *hash)
{
    *hash = 0;
    for (int i = t->n_in; i < t->call.n_tensors; i++) {
        int64_t low, high;
        call_extent(t->call.list[i], &low, &high);
        kiln_cu_pointer from =
            (kiln_cu_pointer)(uintptr_t)t->data[i] + (kiln_cu_pointer)low;
        if (!peek(t, from, (size_t)(high - low), hash))
            return fail(t);
    }
    return true;
}

/* --- time ----------------------------------------------------------------- */

static bool enqueue(timing *t, const timing_arm *a)
{
    void *workspace = (void *)(uintptr_t)t->workspace.at;
    if (kiln_plan_enqueue(a->plan, t->data, workspace, t->gpu.stream) ==
        KILN_OK)
        return true;
    snprintf(t->why, t->cap, "%s", kiln_last_error());
    return false;
}

/* First runs, of which the first of all counts for nothing. */
static bool screen(timing *t, timing_arm *a)
{
    double us[2];
    for (int i = 0; i < 3; i++) {
        if (!gpu_mark(&t->gpu, i))
            return fail(t);
        if (!enqueue(t, a))
            return false;
    }
    if (!gpu_mark(&t->gpu, 3))
        return fail(t);
    if (!hash_outputs(t, &a->first))
        return false;
    if (!gpu_wait(&t->gpu) || !gpu_between(&t->gpu, 1, 2, &us[0]) ||
        !gpu_between(&t->gpu, 2, 3, &us[1]))
        return fail(t);
    a->last = a->first;
    a->run_us = fmax(fmin(us[0], us[1]), 0.1);
    double repeats = fmin(fmax(rint(SAMPLE_US / a->run_us), 1), MOST_REPEATS);
    a->repeats = (int64_t)repeats;
    return true;
}

static bool capture(timing *t, timing_arm *a)
{
    if (!gpu_begin(&t->gpu))
        return fail(t);
    bool good = true;
    for (int64_t i = 0; good && i < a->repeats; i++)
        good = enqueue(t, a);
    if (!gpu_end(&t->gpu, &a->graph) && good)
        good = fail(t);
    return good;
}

/* Screens all; those that are not hopeless get a graph. */
static bool screen_all(timing *t)
{
    double best = INFINITY;
    for (int i = 0; i < t->n_arms; i++) {
        if (!screen(t, &t->arms[i]))
            return false;
        best = fmin(best, t->arms[i].run_us);
    }
    for (int i = 0; i < t->n_arms; i++) {
        timing_arm *a = &t->arms[i];
        a->rounds = 1;
        a->samples[0] = a->run_us;
        if (a->run_us > HOPELESS * best && a->run_us > HOPELESS_US)
            continue;
        if (!capture(t, a))
            return false;
    }
    return true;
}

/* Replays the graphs of one round, forwards and backwards in turn; with the
 * marks of round r, or without any where r is negative. */
static bool run_round(timing *t, int r, bool last)
{
    for (int k = 0; k < t->n_arms; k++) {
        int i = r % 2 ? t->n_arms - 1 - k : k;
        timing_arm *a = &t->arms[i];
        int mark = 2 * (r * t->n_arms + i);
        if (!a->graph)
            continue;
        if ((r >= 0 && !gpu_mark(&t->gpu, mark)) ||
            !gpu_replay(&t->gpu, a->graph) ||
            (r >= 0 && !gpu_mark(&t->gpu, mark + 1)))
            return fail(t);
        if (last && !hash_outputs(t, &a->last))
            return false;
    }
    return true;
}

static bool read_samples(timing *t, int rounds)
{
    if (!gpu_wait(&t->gpu))
        return fail(t);
    for (int i = 0; i < t->n_arms; i++) {
        timing_arm *a = &t->arms[i];
        a->rounds = a->graph ? rounds : 1;
        for (int r = 0; a->graph && r < rounds; r++) {
            int mark = 2 * (r * t->n_arms + i);
            double us;
            if (!gpu_between(&t->gpu, mark, mark + 1, &us))
                return fail(t);
            a->samples[r] = fmax(us, 0.001) / (double)a->repeats;
        }
    }
    return true;
}

static bool run_rounds(timing *t)
{
    double round_us = 0;
    for (int i = 0; i < t->n_arms; i++)
        if (t->arms[i].graph)
            round_us += t->arms[i].run_us * (double)t->arms[i].repeats;
    double most = fmin(BUDGET_US / round_us - 1, MAX_ROUNDS);
    int rounds = most < MIN_ROUNDS ? MIN_ROUNDS : (int)most;
    int warm_ups = round_us > BUDGET_US ? 1 : WARM_UPS;
    for (int i = 0; i < warm_ups; i++)
        if (!run_round(t, -2, false))
            return false;
    for (int r = 0; r < rounds; r++)
        if (!run_round(t, r, r == rounds - 1))
            return false;
    return read_samples(t, rounds);
}

bool timing_arms_cuda(timing *t)
{
    bool good = place_buffers(t) && screen_all(t) && run_rounds(t);
    for (int i = 0; i < t->n_arms; i++) {
        gpu_forget(&t->gpu, t->arms[i].graph);
        t->arms[i].graph = NULL;
    }
    return good;
}

void timing_release_cuda(timing *t)
{
    for (int i = 0; i < CALL_MAX_TENSORS && t->gpu.context; i++)
        gpu_drop(&t->gpu, &t->memory[i]);
    if (t->gpu.context)
        gpu_drop(&t->gpu, &t->workspace);
    gpu_close(&t->gpu);
    free(t->block);
    free(t->peek);
}
