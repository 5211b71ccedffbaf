/* random.c: calls of random shapes, layouts, dtypes and attributes on every
 * ISA: the kernel that the plan takes is right for the size, by the f64 truth
 * and the op's own limits; between guard pages it reads and writes nothing
 * else; no input changes; cost and workspace are what the shapes say.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "forms.h"

#define RANK 8
#define MOST 6000   /* elements of most calls */
#define LARGE 70000 /* of a few: past any one thread's work */
#define TEXT 900    /* of CALL_TEXT */

typedef struct dice {
    uint64_t state;
} dice;

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t roll(dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int64_t below(dice *d, int64_t n)
{
    return (int64_t)(roll(d) % (uint64_t)n);
}

/* --- shapes --------------------------------------------------------------- */

typedef struct shape {
    int rank;
    int64_t size[RANK];
} shape;

/* 1 to most, as often below as above any power of two, and often beside one. */
static int64_t random_size(dice *d, int64_t most)
{
    int bits = 0;

    while (bits < 40 && INT64_C(1) << bits <= most) {
        bits++;
    }
    int64_t power = INT64_C(1) << below(d, bits);
    int64_t size =
        below(d, 3) == 0 ? power + below(d, 3) - 1 : power + below(d, power);
    return size < 1 ? 1 : size > most ? most : size;
}

static shape random_shape(dice *d)
{
    int64_t left = below(d, 50) == 0 ? LARGE : 1 + below(d, MOST);
    shape s = {.rank = (int)below(d, RANK + 1)};

    for (int i = 0; i < s.rank; i++) {
        int at = (int)below(d, s.rank); /* sizes fall anywhere */
        while (s.size[at] != 0) {
            at = (at + 1) % s.rank;
        }
        s.size[at] = below(d, 60) == 0 ? 0 : random_size(d, left);
        left = s.size[at] > 0 ? left / s.size[at] : left;
        s.size[at] = s.size[at] == 0 ? -1 : s.size[at];
    }
    for (int i = 0; i < s.rank; i++) {
        s.size[i] = s.size[i] < 0 ? 0 : s.size[i];
    }
    return s;
}

/* An input that broadcasts to s, of rank `least` or more. */
static shape narrowed(dice *d, const shape *s, int least)
{
    shape out = {.rank = s->rank};
    int gone = 0;

    while (gone < s->rank - least && below(d, 6) == 0) {
        gone++;
    }
    out.rank -= gone;
    for (int i = 0; i < out.rank; i++) {
        out.size[i] = below(d, 5) == 0 ? 1 : s->size[i + gone];
    }
    return out;
}

/* --- texts ---------------------------------------------------------------- */

/* Dims of random order, gaps between, and now and then a stride of 0. */
static void random_strides(dice *d, const shape *s, bool is_output,
                           int64_t *stride)
{
    int order[RANK];
    int64_t step = 1 + (below(d, 3) == 0 ? below(d, 3) : 0);
    bool shuffle = below(d, 2) == 0;

    for (int i = 0; i < s->rank; i++) {
        int at = shuffle ? (int)below(d, i + 1) : 0;
        memmove(order + at + 1, order + at, (size_t)(i - at) * sizeof *order);
        order[at] = i;
    }
    for (int i = 0; i < s->rank; i++) {
        int dim = order[i];
        stride[dim] = step;
        step *= s->size[dim] > 0 ? s->size[dim] : 1;
        step += below(d, 3) == 0 ? below(d, 4) : 0;
        if (!is_output && below(d, 12) == 0) {
            stride[dim] = 0;
        }
    }
}

static size_t put_list(char *text, size_t cap, const int64_t *values, int n)
{
    size_t used = (size_t)snprintf(text, cap, "[");

    for (int i = 0; i < n; i++) {
        used += (size_t)snprintf(text + used, cap - used, "%s%" PRId64,
                                 i > 0 ? "," : "", values[i]);
    }
    return used + (size_t)snprintf(text + used, cap - used, "]");
}

static size_t put_tensor(dice *d, char *text, size_t cap, const char *name,
                         const char *dtype, const shape *s, bool is_output)
{
    size_t used = (size_t)snprintf(text, cap, " %s=%s", name, dtype);

    used += put_list(text + used, cap - used, s->size, s->rank);
    if (below(d, 2) == 0) {
        int64_t stride[RANK];
        random_strides(d, s, is_output, stride);
        used += (size_t)snprintf(text + used, cap - used, ":");
        used += put_list(text + used, cap - used, stride, s->rank);
    }
    if (below(d, 3) == 0) {
        used += (size_t)snprintf(text + used, cap - used, "+%d",
                                 (int)(1 + below(d, 9)));
    }
    return used;
}

static void random_call(dice *d, const form *f, char *text, size_t cap)
{
    const int n = forms_inputs(f);
    const char *dtypes[FORMS_TENSORS];
    const int choices = forms_pick_dtypes(f, 0, dtypes);
    const shape s = random_shape(d);
    size_t used = (size_t)snprintf(text, cap, "%s", f->op);
    int attrs = 1;
    int full = (int)below(d, n); /* this input is not narrowed */

    forms_pick_dtypes(f, (int)below(d, choices), dtypes);
    for (int i = 0; i <= n; i++) {
        /* A scalar of a wider dtype does not promote: refusals.c. */
        int least =
            f->kind == FORM_BROADCAST && strcmp(dtypes[0], dtypes[1]) != 0;
        shape own = n > 1 && i < n && i != full ? narrowed(d, &s, least) : s;
        used += put_tensor(d, text + used, cap - used, forms_name(f, i),
                           dtypes[i], &own, i == n);
    }
    while (attrs < FORMS_ATTRS && f->attrs[attrs] != NULL) {
        attrs++;
    }
    used += (size_t)snprintf(text + used, cap - used, "%s",
                             f->attrs[below(d, attrs)]);
    if (f->kind == FORM_ROWS) {
        int rank = s.rank > 0 ? s.rank : 1;
        (void)snprintf(text + used, cap - used, " dim=%d",
                       (int)below(d, 2 * rank) - rank);
    }
}

/* --- cost ----------------------------------------------------------------- */

/* Elements of a tensor that lie apart. */
static int64_t distinct(const DLTensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->ndim; i++) {
        n *= t->strides[i] == 0 && t->shape[i] > 0 ? 1 : t->shape[i];
    }
    return n;
}

/* Each input is read once and the output written once, without a byte of
 * workspace: every op of the table is one launch. */
static bool check_cost(trial *t, const kiln_plan *plan)
{
    kiln_buffer_cost rows[FORMS_TENSORS];
    kiln_cost cost = {.buffer_capacity = FORMS_TENSORS, .buffers = rows};
    const DLTensor *y = trial_output(t);
    const int64_t n = truth_numel(y), size = truth_size(y->dtype);
    int64_t read = 0;

    for (int i = 0; i < t->call.n_tensors - 1; i++) {
        const DLTensor *x = t->call.list[i];
        read += distinct(x) * truth_size(x->dtype);
    }
    if (kiln_plan_cost(plan, &cost) != KILN_OK) {
        return trial_fail(t, "cost: %s", kiln_last_error());
    }
    if (cost.launches != (n > 0) || cost.workspace_bytes != 0 ||
        kiln_plan_workspace(plan) != 0 || cost.n_buffers != t->call.n_tensors ||
        cost.bytes_read != (n > 0 ? read : 0) ||
        cost.bytes_written != n * size) {
        return trial_fail(
            t,
            "cost: %d launches, %lld bytes read, %lld written, "
            "workspace %lld, %d buffers; %lld and %lld bytes were right",
            (int)cost.launches, (long long)cost.bytes_read,
            (long long)cost.bytes_written, (long long)cost.workspace_bytes,
            (int)cost.n_buffers, (long long)(n > 0 ? read : 0),
            (long long)(n * size));
    }
    for (int i = 0; i < cost.n_buffers; i++) {
        int64_t low, high;
        call_extent(t->call.list[i], &low, &high);
        if (rows[i].offset != -1 || (n > 0 && rows[i].bytes != high - low)) {
            return trial_fail(t, "cost: %s: %lld bytes at %lld", rows[i].name,
                              (long long)rows[i].bytes,
                              (long long)rows[i].offset);
        }
    }
    return true;
}

/* --- runs ----------------------------------------------------------------- */

static void fill(dice *d, trial *t)
{
    const uint64_t seed = roll(d) >> 8;
    const int kind = (int)below(d, 4);
    const kiln_attr *attr = t->call.n_attrs > 0 ? t->call.attrs : NULL;
    const bool is_factor =
        attr && attr->kind == KILN_ATTR_FLOAT && attr->value.f != 0;
    const double factor = is_factor ? attr->value.f : 1;

    for (int i = 0; i < t->call.n_tensors - 1; i++) {
        const DLTensor *x = t->call.list[i];
        if (kind == 0) {
            fill_special(x, seed + (uint64_t)i);
        } else if (kind == 1) {
            fill_rows(x, -1, seed + (uint64_t)i);
        } else if (kind == 2) {
            fill_cancelling(x, i == 0, &factor, 1, seed);
        } else {
            fill_normal(x, 3, seed + (uint64_t)i);
        }
    }
}

/* FNV-1a of the inputs, what lies between their elements too. */
static uint64_t inputs_hash(const trial *t)
{
    uint64_t hash = 14695981039346656037u;

    for (int i = 0; i < t->call.n_tensors - 1; i++) {
        int64_t low, high;
        call_extent(t->call.list[i], &low, &high);
        const unsigned char *from = t->call.list[i]->data;
        for (int64_t at = low; at < high; at++) {
            hash = (hash ^ from[at]) * 1099511628211u;
        }
    }
    return hash;
}

static bool run_plan(trial *t, kiln_context *ctx)
{
    const uint64_t before = inputs_hash(t);
    kiln_plan *plan = trial_plan(t, ctx);
    bool good =
        plan && check_cost(t, plan) && trial_enqueue(t, plan) && trial_judge(t);

    if (good && inputs_hash(t) != before) {
        good = trial_fail(t, "an input was written to");
    }
    kiln_plan_destroy(plan);
    return good;
}

static bool run_call(dice *d, trial *t, const form *f, kiln_context **contexts)
{
    char text[TEXT + 100];

    random_call(d, f, text, sizeof text);
    if (!trial_open(t, text, true)) {
        return false;
    }
    fill(d, t);
    return trial_truth(t) && run_plan(t, contexts[0]) &&
           (!contexts[1] || run_plan(t, contexts[1]));
}

void cases_random(tally *all, int calls, uint64_t seed)
{
    kiln_context *contexts[] = {cases_context("base", 2),
                                cases_context("avx2", 3)};

    for (int f = 0; f < n_forms; f++) {
        const int n = calls / n_forms + (f < calls % n_forms);
        dice d = {seed * 1000 + (uint64_t)f};
        trial t = {.room = 0};
        bool good = true;
        char name[128];

        for (int i = 0; i < n && good; i++) {
            good = run_call(&d, &t, &forms[f], contexts);
        }
        snprintf(name, sizeof name, "random calls: %s, %d calls, seed %" PRIu64,
                 forms[f].op, n, seed);
        tally_add(all, good, name, t.problem);
        trial_close(&t);
    }
    kiln_context_destroy(contexts[0]);
    kiln_context_destroy(contexts[1]);
}
