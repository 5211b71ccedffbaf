#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

/* --- keeping -------------------------------------------------------------- */

static void drop(sample *s)
{
    for (int i = 0; i < CALL_MAX_TENSORS; i++) {
        free(s->inputs[i]);
        free(s->truth[i]);
    }
    free(s);
}

void samples_release(samples *s)
{
    for (int i = 0; i < s->n; i++)
        drop(s->list[i]);
    free(s->list);
    table_free(&s->by_name);
    *s = (samples){.most = s->most};
}

void samples_turn_to(samples *s, const work_kernel *kernel)
{
    if (s->kernel && !worklist_share_calls(s->kernel, kernel))
        samples_release(s);
    s->kernel = kernel;
}

static bool keep(samples *s, sample *fresh)
{
    if (fresh->bytes > s->most || s->bytes > s->most - fresh->bytes)
        return false;
    if (s->n == s->room) {
        int room = s->room ? 2 * s->room : 64;
        sample **list = realloc(s->list, (size_t)room * sizeof *list);
        if (!list)
            return false;
        s->list = list;
        s->room = room;
    }
    if (!table_put(&s->by_name, fresh->name, s->n))
        return false;
    s->list[s->n++] = fresh;
    s->bytes += fresh->bytes;
    return fresh->kept = true;
}

void samples_give(sample *given)
{
    if (!given->kept)
        drop(given);
}

/* --- making --------------------------------------------------------------- */

static bool is_rows(const char *op)
{
    return strstr(op, "softmax") != NULL;
}

static bool is_float(const DLTensor *x)
{
    return x && (x->dtype.code == kDLFloat || x->dtype.code == kDLBfloat);
}

int sample_sets(const call *c, int n_in)
{
    int floats = 0;
    for (int i = 0; i < n_in; i++)
        floats += is_float(c->list[i]);
    return is_rows(c->op) || floats > 1 ? SAMPLE_SETS : SAMPLE_SETS - 1;
}

static int64_t dim_of(const call *c)
{
    for (int i = 0; i < c->n_attrs; i++)
        if (strcmp(c->attrs[i].name, "dim") == 0 &&
            c->attrs[i].kind == KILN_ATTR_INT)
            return c->attrs[i].value.i;
    return -1;
}

/* Inputs cancel by themselves and times any float attribute of the call. */
static void fill_sums(const call *c, int tensor, uint64_t number)
{
    double factors[1 + CALL_MAX_ATTRS] = {1};
    int n = 1;
    for (int i = 0; i < c->n_attrs; i++)
        if (c->attrs[i].kind == KILN_ATTR_FLOAT && c->attrs[i].value.f != 0)
            factors[n++] = c->attrs[i].value.f;
    bool is_first = true;
    for (int i = 0; i < tensor; i++)
        is_first = is_first && !is_float(c->list[i]);
    fill_cancelling(c->list[tensor], is_first, factors, n, number);
}

static void fill_input(const call *c, int tensor, int set, uint64_t number)
{
    static const double scales[] = {1, 4, 0.25};
    const DLTensor *x = c->list[tensor];
    uint64_t seed = number * CALL_MAX_TENSORS + (uint64_t)tensor;
    if (set == 0)
        fill_normal(x, scales[number % 3], seed);
    else if (is_rows(c->op))
        (set == 1 ? fill_rows : fill_steep)(x, dim_of(c), number);
    else if (set == 1)
        fill_special(x, seed);
    else
        fill_sums(c, tensor, number);
}

/* Where an input's bytes are and how many, gaps too. */
static char *extent(const DLTensor *x, size_t *bytes)
{
    int64_t low, high;
    call_extent(x, &low, &high);
    *bytes = (size_t)(high - low);
    return (char *)x->data + low;
}

/* Fills the inputs and keeps what they are. */
static bool make_inputs(sample *s, const call *c, int n_in, int set,
                        uint64_t number)
{
    for (int i = 0; i < n_in; i++) {
        if (!c->list[i])
            continue;
        size_t bytes;
        fill_input(c, i, set, number);
        const char *from = extent(c->list[i], &bytes);
        s->inputs[i] = malloc(bytes + 1);
        if (!s->inputs[i])
            return false;
        memcpy(s->inputs[i], from, bytes);
        s->bytes += bytes;
    }
    return true;
}

static const char *make_truth(sample *s, const call *c, int n_in)
{
    for (int i = n_in; i < c->n_tensors; i++) {
        size_t bytes = (size_t)truth_numel(c->list[i]) * sizeof(double);
        s->truth[i] = malloc(bytes + 1);
        if (!s->truth[i])
            return "no memory for truth";
        if (truth_eval(c->op, c->list, c->n_tensors, c->attrs, c->n_attrs,
                       i - n_in, s->truth[i]) != TRUTH_OK)
            return "the truth knows no such call";
        s->bytes += bytes;
    }
    return NULL;
}

static bool make(sample *s, const call *c, int n_in, uint64_t seed, int set,
                 const char **why)
{
    *why = "no memory for inputs";
    if (make_inputs(s, c, n_in, set, seed))
        *why = make_truth(s, c, n_in);
    return *why == NULL;
}

static void lay_around(const call *c, call_buffers *buffers, int n_in,
                       int around)
{
    for (int i = 0; i < n_in; i++)
        if (c->list[i])
            guard_fill(&buffers->guards[i], around);
}

static void lay_inputs(const sample *s, const call *c, int n_in)
{
    for (int i = 0; i < n_in; i++) {
        size_t bytes;
        if (!c->list[i])
            continue;
        char *to = extent(c->list[i], &bytes);
        memcpy(to, s->inputs[i], bytes);
    }
}

sample *samples_take(samples *s, const call *c, call_buffers *buffers, int n_in,
                     uint64_t seed, int set, int around, const char **why)
{
    char name[sizeof(((sample *)0)->name)];
    snprintf(name, sizeof name, "%d %s", set, c->text);
    lay_around(c, buffers, n_in, around);
    int i = table_get(&s->by_name, name, -1);
    if (i >= 0) {
        lay_inputs(s->list[i], c, n_in);
        return s->list[i];
    }
    *why = "no memory for a sample";
    sample *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    memcpy(fresh->name, name, sizeof name);
    if (make(fresh, c, n_in, seed, set, why)) {
        (void)keep(s, fresh);
        return fresh;
    }
    drop(fresh);
    return NULL;
}
