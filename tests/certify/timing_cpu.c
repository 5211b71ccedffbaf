#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "fill.h"
#include "timing_arm.h"

#define SAMPLE_US 20.0 /* a timed loop lasts at least this long */
#define BUDGET_US 1000.0
#define MIN_ROUNDS 3
#define MAX_ROUNDS TIMING_ROUNDS

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* --- buffers -------------------------------------------------------------- */

static bool place_buffers(timing *t)
{
    if (!call_place(&t->call, &t->buffers, false))
        return false;
    for (int i = 0; i < t->call.n_tensors; i++) {
        const guard *g = &t->buffers.guards[i];
        const DLTensor *x = t->call.list[i];
        t->data[i] = x ? x->data : NULL;
        if (!x || i >= t->n_in)
            continue;
        if (timing_is_filled(t, i, g->room_bytes))
            continue;
        int64_t size = truth_size(x->dtype);
        fill_raw(x->dtype, g->room, (int64_t)g->room_bytes / size, (uint64_t)i);
    }
    for (int i = 0; i < t->n_arms; i++) {
        timing_arm *a = &t->arms[i];
        size_t bytes = kiln_plan_workspace(a->plan);
        a->workspace =
            guard_place(&a->workspace_guard, 0, (int64_t)bytes, false);
        if (!a->workspace)
            return false;
    }
    return true;
}

static uint64_t hash_outputs(const timing *t)
{
    uint64_t hash = 0;
    for (int i = t->n_in; i < t->call.n_tensors; i++) {
        int64_t low, high;
        call_extent(t->call.list[i], &low, &high);
        hash = hash * 31 + timing_hash((const char *)t->data[i] + low,
                                       (size_t)(high - low));
    }
    return hash;
}

/* --- time ----------------------------------------------------------------- */

static bool enqueue(timing *t, const timing_arm *a)
{
    if (kiln_plan_enqueue(a->plan, t->data, a->workspace, NULL) == KILN_OK)
        return true;
    snprintf(t->why, t->cap, "%s", kiln_last_error());
    return false;
}

/* Mean time of one enqueue over n. */
static double sample(timing *t, const timing_arm *a, int64_t n)
{
    double start = now_us();
    for (int64_t i = 0; i < n; i++)
        (void)kiln_plan_enqueue(a->plan, t->data, a->workspace, NULL);
    return (now_us() - start) / (double)n;
}

/* First runs; finds how many enqueues make a sample. The first of all pays
 * for pages and threads, so a short one is run again. */
static bool warm_up(timing *t, timing_arm *a)
{
    double start = now_us();
    if (!enqueue(t, a))
        return false;
    a->run_us = now_us() - start;
    a->first = hash_outputs(t);
    for (int i = 0; i < 3 && a->run_us < BUDGET_US; i++)
        a->run_us = fmin(a->run_us, sample(t, a, 1 + (int64_t)(i * 4)));
    double run = a->run_us > 0.01 ? a->run_us : 0.01;
    a->repeats = run >= SAMPLE_US ? 1 : (int64_t)ceil(SAMPLE_US / run);
    return true;
}

static int64_t count_rounds(const timing *t)
{
    double longest = 0;
    for (int i = 0; i < t->n_arms; i++)
        longest = fmax(longest, t->arms[i].run_us * (double)t->arms[i].repeats);
    double rounds = BUDGET_US / longest;
    return rounds < MIN_ROUNDS   ? MIN_ROUNDS
           : rounds > MAX_ROUNDS ? MAX_ROUNDS
                                 : (int64_t)rounds;
}

/* Every arm once a round, in turn forwards and backwards. */
static void run_rounds(timing *t, int64_t rounds)
{
    for (int64_t r = 0; r < rounds; r++)
        for (int i = 0; i < t->n_arms; i++) {
            timing_arm *a = &t->arms[r % 2 ? t->n_arms - 1 - i : i];
            a->samples[r] = sample(t, a, a->repeats);
            if (r == rounds - 1)
                a->last = hash_outputs(t);
        }
}

bool timing_arms_cpu(timing *t)
{
    if (!place_buffers(t)) {
        snprintf(t->why, t->cap, "no memory for buffers");
        return false;
    }
    for (int i = 0; i < t->n_arms; i++)
        if (!warm_up(t, &t->arms[i]))
            return false;
    int64_t rounds = count_rounds(t);
    run_rounds(t, rounds);
    for (int i = 0; i < t->n_arms; i++)
        t->arms[i].rounds = rounds;
    return true;
}

void timing_release_cpu(timing *t)
{
    for (int i = 0; i < TIMING_CONFIGS; i++)
        guard_release(&t->arms[i].workspace_guard);
    call_release(&t->buffers);
}
