/* truth_softmax.c: softmax and its logarithm along one dim.
 *
 * torch.nn.functional.softmax: y_i = exp(x_i) / sum_j exp(x_j);
 * torch.nn.functional.log_softmax: y_i = log of that. Both are evaluated
 * after subtracting the row's maximum m, which changes neither. By IEEE 754
 * arithmetic on these formulas a row with a NaN or +Inf, or of -Inf alone, is
 * NaN throughout (Inf - Inf), as in PyTorch.
 *
 * The sum over all but one largest element is taken in long double, s; the
 * whole sum is 1 + s and its logarithm log1p(s), which stays exact to a few
 * units when one element dominates.
 */
#include <math.h>
#include <stdlib.h>

#include "truth_ops.h"

typedef struct job {
    const DLTensor *x;
    int dim;
    int64_t length; /* of a row */
    int64_t step;   /* between a row's elements in out */
    bool log;
    bool wide; /* exponentials in long double, for f64 outputs */
    double *out;
    bool failed;
} job;

/* Index of a largest element, or -1 when all outputs are NaN. */
static int64_t largest(const double *row, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(row[i]))
            return -1;
        if (row[i] > row[best])
            best = i;
    }
    return isinf(row[best]) ? -1 : best;
}

static void row_nan(double *y, int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i * step] = NAN;
}

/* The sum over all elements but `skip`. */
static long double sum_others(const job *j, const double *row, int64_t skip)
{
    long double sum = 0;
    for (int64_t i = 0; i < j->length; i++) {
        if (i == skip)
            continue;
        if (j->wide)
            sum += expl((long double)row[i] - row[skip]);
        else
            sum += exp(row[i] - row[skip]);
    }
    return sum;
}

static void row_log(const job *j, const double *row, double *y)
{
    int64_t at = largest(row, j->length);
    if (at < 0) {
        row_nan(y, j->step, j->length);
        return;
    }
    long double log_sum = log1pl(sum_others(j, row, at));
    for (int64_t i = 0; i < j->length; i++)
        y[i * j->step] = (double)((long double)row[i] - row[at] - log_sum);
}

static void row_plain(const job *j, double *row, double *y)
{
    int64_t at = largest(row, j->length);
    if (at < 0) {
        row_nan(y, j->step, j->length);
        return;
    }
    long double max = row[at];
    if (j->wide) {
        long double scale = 1 / (1 + sum_others(j, row, at));
        for (int64_t i = 0; i < j->length; i++)
            y[i * j->step] = (double)(expl(row[i] - max) * scale);
        return;
    }
    long double sum = 0;
    for (int64_t i = 0; i < j->length; i++) {
        row[i] = exp(row[i] - (double)max);
        sum += row[i];
    }
    double scale = (double)(1 / sum);
    for (int64_t i = 0; i < j->length; i++)
        y[i * j->step] = row[i] * scale;
}

/* Offset in x of row r: rows count through all dims but `dim`. */
static int64_t row_offset(const job *j, int64_t r)
{
    int64_t offset = 0;
    for (int d = j->x->ndim - 1; d >= 0; d--) {
        if (d == j->dim)
            continue;
        offset += r % j->x->shape[d] * truth_stride(j->x, d);
        r /= j->x->shape[d];
    }
    return offset;
}

static void job_rows(void *user, int64_t first, int64_t last)
{
    job *j = user;
    const DLTensor *x = j->x;
    double *row = malloc((size_t)j->length * sizeof *row);
    if (!row) {
        j->failed = true;
        return;
    }
    int64_t stride = x->ndim ? truth_stride(x, j->dim) : 1;
    for (int64_t r = first; r < last; r++) {
        const char *from = (const char *)x->data + x->byte_offset +
                           row_offset(j, r) * truth_size(x->dtype);
        truth_read_run(x->dtype, from, stride, j->length, row);
        double *y = j->out + r / j->step * j->step * j->length + r % j->step;
        if (j->log)
            row_log(j, row, y);
        else
            row_plain(j, row, y);
    }
    free(row);
}

static bool same_shape(const DLTensor *a, const DLTensor *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return true;
}

static int evaluate(const truth_call *call, bool log, double *out)
{
    bool ok = true;
    const DLTensor *x = call->tensors[0];
    int64_t dim = truth_attr_int(call, "dim", -1, &ok);
    int rank = x->ndim ? x->ndim : 1; /* a scalar is a row of one */
    if (!ok || dim < -rank || dim >= rank || !same_shape(x, call->tensors[1]))
        return TRUTH_BAD_CALL;
    job j = {.x = x, .dim = (int)(dim < 0 ? dim + rank : dim), .out = out};
    j.log = log;
    j.wide = truth_is_f64(call->tensors[1]->dtype);
    j.length = x->ndim ? x->shape[j.dim] : 1;
    j.step = 1;
    for (int d = j.dim + 1; d < x->ndim; d++)
        j.step *= x->shape[d];
    int64_t numel = truth_numel(x);
    if (numel == 0)
        return TRUTH_OK;
    int64_t threshold = (TRUTH_THREAD_ELEMENTS + j.length - 1) / j.length;
    truth_parallel(numel / j.length, threshold, job_rows, &j);
    return j.failed ? TRUTH_NO_MEMORY : TRUTH_OK;
}

int truth_softmax(const truth_call *call, double *out)
{
    bool ok = true;
    bool log = truth_attr_bool(call, "log", false, &ok);
    return ok ? evaluate(call, log, out) : TRUTH_BAD_CALL;
}

int truth_log_softmax(const truth_call *call, double *out)
{
    return evaluate(call, true, out);
}
