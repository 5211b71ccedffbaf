/* tensor.c: the tensor cases of tests/golden/cases.json, for each ISA and
 * with one and more threads, with buffers that are aligned and with buffers
 * that end at an unmapped page.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"

typedef struct tensor_case {
    const char *id;
    const char *call;
    struct {
        const double *values; /* of the buffer, from its base on */
        int n;
    } inputs[2];
    const double *want;
    int n_want;
    double abs;
    double rel;
    const char *refused;    /* the call is invalid: the text says this */
    const char *unserved;   /* the dtype that the op has no kernels of */
    DLDataType output_type; /* in place of the call's, unless 0 */
    int32_t devices[2];
    int64_t dims[2]; /* in place of all shapes, without data; 0: none */
} tensor_case;

#include "../golden/case_data.h"

/* Values up to the last byte that the tensor reaches. */
static void place_values(const tensor_case *c, trial *t, int input)
{
    const DLTensor *x = &t->call.tensors[input].tensor;
    int64_t size = truth_size(x->dtype);
    int64_t low, n;

    call_extent(x, &low, &n);
    n /= size;
    if (n > c->inputs[input].n) {
        n = c->inputs[input].n;
    }
    DLTensor all = {.data = x->data, .ndim = 1, .dtype = x->dtype, .shape = &n};
    for (int64_t i = 0; i < n; i++) {
        truth_write(&all, i, c->inputs[input].values[i]);
    }
}

static bool open_case(const tensor_case *c, trial *t, bool flush)
{
    if (!trial_open(t, c->call, flush)) {
        return false;
    }
    for (int i = 0; i < t->call.n_tensors - 1; i++) {
        t->call.tensors[i].tensor.device.device_id = c->devices[i];
        place_values(c, t, i);
    }
    if (c->output_type.bits != 0) {
        trial_output(t)->dtype = c->output_type;
    }
    for (int i = 0; c->dims[0] != 0 && i < t->call.n_tensors; i++) {
        call_tensor *tensor = &t->call.tensors[i];
        memcpy(tensor->shape, c->dims, sizeof c->dims);
        tensor->tensor.strides = NULL;
        tensor->tensor.data = NULL;
    }
    return true;
}

static bool is_close(const tensor_case *c, double got, double want)
{
    if (isnan(want) || isinf(want)) {
        return isnan(want) ? isnan(got) : got == want;
    }
    return fabs(got - want) <= c->abs + c->rel * fabs(want);
}

static bool check_values(const tensor_case *c, trial *t)
{
    DLTensor dense = *trial_output(t);

    dense.data = t->got;
    dense.byte_offset = 0;
    dense.strides = NULL;
    if (truth_numel(&dense) != c->n_want) {
        return trial_fail(t, "%d values are expected", c->n_want);
    }
    for (int i = 0; i < c->n_want; i++) {
        double got = truth_read(&dense, i);
        if (!is_close(c, got, c->want[i])) {
            return trial_fail(t, "element %d is %.17g, not %.17g", i, got,
                              c->want[i]);
        }
    }
    return true;
}

/* The call is refused, by its text; the output's buffer is as it was. */
static bool check_refused(trial *t, kiln_context *ctx, const char *text)
{
    const call *k = &t->call;
    const guard *g = &t->buffers.guards[k->n_tensors - 1];
    int64_t at;
    kiln_status status =
        kiln_run(ctx, k->op, k->list, k->n_tensors, k->attrs, k->n_attrs, NULL);

    if (status != KILN_INVALID_ARGUMENT) {
        return trial_fail(t, "status %s", kiln_status_name(status));
    }
    if (!strstr(kiln_last_error(), text) || !strstr(kiln_last_error(), k->op)) {
        return trial_fail(t, "it says: %s", kiln_last_error());
    }
    return !guard_find_other(g, CASES_POISON, &at) ||
           trial_fail(t, "byte %lld was written", (long long)at);
}

static bool check_case(const tensor_case *c, trial *t, kiln_context *ctx,
                       bool flush)
{
    if (!open_case(c, t, flush)) {
        return false;
    }
    if (c->refused || c->unserved) {
        return check_refused(t, ctx, c->refused ? c->refused : "dtype");
    }
    return trial_run(t, ctx) && check_values(c, t);
}

static bool check_everywhere(const tensor_case *c, trial *t)
{
    static const int threads[] = {1, 2, 0};
    bool good = true;

    for (const char *const *isa = cases_isas; *isa && good; isa++) {
        for (int i = 0; i < 3 && good; i++) {
            kiln_context *ctx = cases_context(*isa, threads[i]);
            good = !ctx || (check_case(c, t, ctx, false) &&
                            check_case(c, t, ctx, true));
            kiln_context_destroy(ctx);
        }
    }
    return good;
}

void cases_tensor(tally *all)
{
    trial t = {.room = 0};

    for (size_t i = 0; i < sizeof case_rows / sizeof *case_rows; i++) {
        const tensor_case *c = &case_rows[i];
        char name[128], why[64];
        snprintf(name, sizeof name, "%s%s", c->id,
                 c->unserved ? ": refused, nothing is written" : "");
        tally_add(all, check_everywhere(c, &t), name, t.problem);
        if (c->unserved) {
            snprintf(why, sizeof why, "no kernels of %s", c->unserved);
            tally_skip(c->id, why);
        }
    }
    trial_close(&t);
}
