#define _GNU_SOURCE
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "fill.h"

#define MAX_CONFIGS 64
#define MAX_CONTEXTS 256
#define DESCRIBE_BYTES 16384

#define SAMPLE_US 20.0 /* a timed loop lasts at least this long */
#define BUDGET_US 1000.0
#define MIN_ROUNDS 3
#define MAX_ROUNDS 41

typedef struct context_entry {
    const char *isa;
    const char *config; /* NULL: as certified */
    kiln_context *context;
} context_entry;

/* A config at work on the key. */
typedef struct arm {
    const char *config;
    kiln_plan *plan;
    void *workspace;
    guard workspace_guard;
    uint64_t first; /* hash of the outputs of its first run */
    uint64_t last;
    int64_t repeats; /* enqueues of one sample */
    double run_us;   /* rough */
    double samples[MAX_ROUNDS];
} arm;

struct timing {
    const journal *journal;
    context_entry contexts[MAX_CONTEXTS];
    int n_contexts;
    call call;
    call_buffers buffers;
    size_t filled[CALL_MAX_TENSORS]; /* bytes of the room, all inputs now */
    DLDataType filled_type[CALL_MAX_TENSORS];
    void *data[CALL_MAX_TENSORS];
    int n_in;
    arm arms[MAX_CONFIGS];
    int n_arms;
    char text[DESCRIBE_BYTES];
    char *why;
    size_t cap;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* --- contexts and plans --------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static kiln_context *context_of(timing *t, const char *isa, const char *config)
{
    for (int i = 0; i < t->n_contexts; i++)
        if (same_text(t->contexts[i].isa, isa) &&
            same_text(t->contexts[i].config, config))
            return t->contexts[i].context;
    if (t->n_contexts == MAX_CONTEXTS) {
        snprintf(t->why, t->cap, "too many configs");
        return NULL;
    }
    kiln_context *context = NULL;
    kiln_options options = {.size = sizeof options};
    options.isa = isa;
    options.config = config;
    if (kiln_context_create(&context, (DLDevice){kDLCPU, 0}, &options) !=
        KILN_OK) {
        snprintf(t->why, t->cap, "%s", kiln_last_error());
        return NULL;
    }
    t->contexts[t->n_contexts++] = (context_entry){isa, config, context};
    return context;
}

/* A prepared plan whose description is in t->text, or NULL. */
static kiln_plan *make_plan(timing *t, const char *isa, const char *config)
{
    const call *c = &t->call;
    kiln_plan *plan = NULL;
    kiln_context *context = context_of(t, isa, config);
    if (!context)
        return NULL;
    if (kiln_plan_create(&plan, context, c->op, c->list, c->n_tensors, c->attrs,
                         c->n_attrs) == KILN_OK &&
        kiln_plan_prepare(plan, NULL) == KILN_OK &&
        kiln_plan_describe(plan, t->text, sizeof t->text) == KILN_OK)
        return plan;
    snprintf(t->why, t->cap, "%s", kiln_last_error());
    kiln_plan_destroy(plan);
    return NULL;
}

/* Copies what follows `lead` in the description, up to one of `stops`. */
static bool described(const timing *t, const char *lead, const char *stops,
                      char *value, size_t cap)
{
    const char *at = strstr(t->text, lead);
    if (!at)
        return false;
    at += strlen(lead);
    size_t n = strcspn(at, stops);
    snprintf(value, cap, "%.*s", (int)n, at);
    return n < cap;
}

/* The call, planned as certified, must have the key it stands for. */
static bool check_key(timing *t, const work_key *key)
{
    char text[512];
    kiln_plan *plan = make_plan(t, key->isa, NULL);
    if (!plan)
        return false;
    kiln_plan_destroy(plan);
    if (described(t, "launch 0: ", "\n", text, sizeof text) &&
        strcmp(text, key->key) == 0)
        return true;
    snprintf(t->why, t->cap, "the call has another key: %s", text);
    return false;
}

/* Adds an arm for the config, unless it may not or need not run. */
static bool add_arm(timing *t, const work_key *key, const char *config,
                    int *skipped)
{
    char symbol[256];
    if (journal_key(t->journal, key->isa, key->key, config) != JOURNAL_ABSENT)
        return true;
    kiln_plan *plan = make_plan(t, key->isa, config);
    if (!plan)
        return false;
    if (!described(t, "  kernel ", ",", symbol, sizeof symbol)) {
        snprintf(t->why, t->cap, "config %s: no kernel is described", config);
        kiln_plan_destroy(plan);
        return false;
    }
    if (journal_kernel(t->journal, key->isa, symbol) != JOURNAL_PASSED) {
        ++*skipped;
        kiln_plan_destroy(plan);
        return true;
    }
    arm *a = &t->arms[t->n_arms++];
    guard kept = a->workspace_guard;
    *a = (arm){.config = config, .plan = plan, .workspace_guard = kept};
    return true;
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
        DLDataType had = t->filled_type[i];
        if (t->filled[i] == g->room_bytes && had.code == x->dtype.code &&
            had.bits == x->dtype.bits)
            continue;
        int64_t size = truth_size(x->dtype);
        fill_raw(x->dtype, g->room, (int64_t)g->room_bytes / size, (uint64_t)i);
        t->filled[i] = g->room_bytes;
        t->filled_type[i] = x->dtype;
    }
    for (int i = 0; i < t->n_arms; i++) {
        arm *a = &t->arms[i];
        size_t bytes = kiln_plan_workspace(a->plan);
        a->workspace =
            guard_place(&a->workspace_guard, 0, (int64_t)bytes, false);
        if (!a->workspace)
            return false;
    }
    return true;
}

/* 64 bits that tell outputs apart; four lanes, to keep up with memory. */
static uint64_t hash_bytes(const char *bytes, size_t n)
{
    uint64_t lanes[4] = {1, 2, 3, 4};
    for (; n >= 32; n -= 32, bytes += 32) {
        for (int k = 0; k < 4; k++) {
            uint64_t word;
            memcpy(&word, bytes + 8 * k, 8);
            lanes[k] = (lanes[k] ^ word) * UINT64_C(0x9E3779B97F4A7C15);
            lanes[k] ^= lanes[k] >> 29;
        }
    }
    for (; n > 0; n--)
        lanes[0] =
            (lanes[0] ^ (unsigned char)*bytes++) * UINT64_C(0x100000001b3);
    uint64_t hash = 0;
    for (int k = 0; k < 4; k++)
        hash = (hash ^ lanes[k]) * UINT64_C(0xBF58476D1CE4E5B9);
    return hash;
}

static uint64_t hash_outputs(const timing *t)
{
    uint64_t hash = 0;
    for (int i = t->n_in; i < t->call.n_tensors; i++) {
        int64_t low, high;
        call_extent(t->call.list[i], &low, &high);
        hash = hash * 31 +
               hash_bytes((const char *)t->data[i] + low, (size_t)(high - low));
    }
    return hash;
}

/* --- time ----------------------------------------------------------------- */

static bool enqueue(timing *t, const arm *a)
{
    if (kiln_plan_enqueue(a->plan, t->data, a->workspace, NULL) == KILN_OK)
        return true;
    snprintf(t->why, t->cap, "%s", kiln_last_error());
    return false;
}

/* Mean time of one enqueue over n. */
static double sample(timing *t, const arm *a, int64_t n)
{
    double start = now_us();
    for (int64_t i = 0; i < n; i++)
        (void)kiln_plan_enqueue(a->plan, t->data, a->workspace, NULL);
    return (now_us() - start) / (double)n;
}

/* First runs; finds how many enqueues make a sample. The first of all pays
 * for pages and threads, so a short one is run again. */
static bool warm_up(timing *t, arm *a)
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
            arm *a = &t->arms[r % 2 ? t->n_arms - 1 - i : i];
            a->samples[r] = sample(t, a, a->repeats);
            if (r == rounds - 1)
                a->last = hash_outputs(t);
        }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted samples, by linear interpolation. */
static double quantile(const double *sorted, int64_t n, double q)
{
    double at = q * (double)(n - 1);
    int64_t i = (int64_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

static timing_result result_of(arm *a, int64_t rounds)
{
    timing_result r = {.config = a->config, .rounds = rounds};
    qsort(a->samples, (size_t)rounds, sizeof *a->samples, by_value);
    r.us = quantile(a->samples, rounds, 0.5);
    r.spread = (quantile(a->samples, rounds, 0.9) -
                quantile(a->samples, rounds, 0.1)) /
               r.us;
    r.same = a->first == a->last;
    return r;
}

/* --- keys ----------------------------------------------------------------- */

static bool open_key(timing *t, const work_key *key, int *skipped)
{
    int n_out;
    if (!call_parse(&t->call, key->call, t->why, t->cap))
        return false;
    if (!truth_arity(t->call.op, &t->n_in, &n_out) ||
        t->call.n_tensors != t->n_in + n_out) {
        snprintf(t->why, t->cap, "the truth knows no such call");
        return false;
    }
    if (key->n_configs > MAX_CONFIGS) {
        snprintf(t->why, t->cap, "more than %d configs", MAX_CONFIGS);
        return false;
    }
    if (!check_key(t, key))
        return false;
    for (int i = 0; i < key->n_configs; i++)
        if (!add_arm(t, key, key->configs[i], skipped))
            return false;
    return true;
}

static bool time_arms(timing *t, const work_key *key, timing_take *take,
                      void *user)
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
    for (int i = 0; i < t->n_arms; i++) {
        timing_result r = result_of(&t->arms[i], rounds);
        take(user, key, &r);
    }
    return true;
}

bool timing_key(timing *t, const work_key *key, timing_take *take, void *user,
                int *skipped, char *why, size_t cap)
{
    t->why = why;
    t->cap = cap;
    t->n_arms = 0;
    *skipped = 0;
    bool good = open_key(t, key, skipped) &&
                (t->n_arms == 0 || time_arms(t, key, take, user));
    for (int i = 0; i < t->n_arms; i++)
        kiln_plan_destroy(t->arms[i].plan);
    return good;
}

timing *timing_create(const journal *j)
{
    timing *t = calloc(1, sizeof *t);
    if (t)
        t->journal = j;
    return t;
}

void timing_destroy(timing *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_contexts; i++)
        kiln_context_destroy(t->contexts[i].context);
    for (int i = 0; i < MAX_CONFIGS; i++)
        guard_release(&t->arms[i].workspace_guard);
    call_release(&t->buffers);
    free(t);
}
