#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing_arm.h"

/* --- plans ---------------------------------------------------------------- */

/* A prepared plan whose description is in t->text, or NULL. */
static kiln_plan *make_plan(timing *t, const work_key *key, const char *config)
{
    const call *c = &t->call;
    kiln_plan *plan = NULL;
    kiln_context *context =
        contexts_get(&t->contexts, key->tier, key->isa, config, t->why, t->cap);
    if (!context)
        return NULL;
    if (kiln_plan_create(&plan, context, c->op, c->list, c->n_tensors, c->attrs,
                         c->n_attrs) == KILN_OK &&
        kiln_plan_prepare(plan, t->gpu.stream) == KILN_OK &&
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
    kiln_plan *plan = make_plan(t, key, NULL);
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
    if (journal_key(t->journal, key, config) != JOURNAL_ABSENT)
        return true;
    kiln_plan *plan = make_plan(t, key, config);
    if (!plan)
        return false;
    if (!described(t, "  kernel ", ",", symbol, sizeof symbol)) {
        snprintf(t->why, t->cap, "config %s: no kernel is described", config);
        kiln_plan_destroy(plan);
        return false;
    }
    if (journal_symbol(t->journal, key, symbol) != JOURNAL_PASSED) {
        ++*skipped;
        kiln_plan_destroy(plan);
        return true;
    }
    timing_arm *a = &t->arms[t->n_arms++];
    guard kept = a->workspace_guard;
    *a = (timing_arm){.config = config, .plan = plan, .workspace_guard = kept};
    return true;
}

/* --- both kinds of devices ------------------------------------------------ */

bool timing_is_filled(timing *t, int i, size_t room)
{
    DLDataType type = t->call.list[i]->dtype;
    DLDataType had = t->filled_type[i];
    if (t->filled[i] == room && had.code == type.code && had.bits == type.bits)
        return true;
    t->filled[i] = room;
    t->filled_type[i] = type;
    return false;
}

/* Four lanes, to keep up with memory. */
uint64_t timing_hash(const char *bytes, size_t n)
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

/* --- results -------------------------------------------------------------- */

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

static timing_result result_of(timing_arm *a)
{
    timing_result r = {.config = a->config, .rounds = a->rounds};
    qsort(a->samples, (size_t)a->rounds, sizeof *a->samples, by_value);
    r.us = quantile(a->samples, a->rounds, 0.5);
    r.spread = (quantile(a->samples, a->rounds, 0.9) -
                quantile(a->samples, a->rounds, 0.1)) /
               r.us;
    r.same = a->first == a->last;
    return r;
}

/* --- keys ----------------------------------------------------------------- */

/* The call's tensors are of the tier's device. */
static bool open_device(timing *t, const work_key *key)
{
    if (contexts_is_cuda(key->tier) && !t->gpu.context && !gpu_open(&t->gpu)) {
        snprintf(t->why, t->cap, "%s", t->gpu.why);
        return false;
    }
    for (int i = 0; i < t->call.n_tensors; i++)
        t->call.tensors[i].tensor.device = contexts_device(key->tier);
    return true;
}

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
    if (key->n_configs > TIMING_CONFIGS) {
        snprintf(t->why, t->cap, "more than %d configs", TIMING_CONFIGS);
        return false;
    }
    if (!open_device(t, key))
        return false;
    if (t->contexts.n + key->n_configs >= CONTEXTS_MOST)
        contexts_close(&t->contexts);
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
    bool cuda = contexts_is_cuda(key->tier);
    if (!(cuda ? timing_arms_cuda(t) : timing_arms_cpu(t)))
        return false;
    for (int i = 0; i < t->n_arms; i++) {
        timing_result r = result_of(&t->arms[i]);
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

bool timing_is_sound(timing *t)
{
    return !t->gpu.context || gpu_wait(&t->gpu);
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
    contexts_close(&t->contexts);
    timing_release_cpu(t);
    timing_release_cuda(t);
    free(t);
}
