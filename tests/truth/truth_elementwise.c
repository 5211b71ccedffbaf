/* truth_elementwise.c: ops that compute each output from the inputs at its
 * place, broadcast together.
 *
 * Definitions are those of the PyTorch documentation:
 *   relu     torch.nn.functional.relu: max(0, x), NaN kept
 *   silu     torch.nn.functional.silu: x * sigmoid(x)
 *   sigmoid  torch.sigmoid: 1 / (1 + exp(-x))
 *   gelu     torch.nn.functional.gelu: none: x * Phi(x), with
 *            Phi(x) = erfc(-x / sqrt(2)) / 2; tanh: 0.5 * x * (1 + tanh(
 *            sqrt(2 / pi) * (x + 0.044715 * x^3)))
 *   add      torch.add: a + alpha * b
 *   where    torch.where: a where cond, else b
 * and of C11 7.12 for tanh, exp and erfc. Where the straightforward form
 * cancels, an equal one that does not is used, said at its place.
 *
 * An op has two forms: in double, and in long double for f64 outputs.
 */
#include <math.h>
#include <string.h>

#include "truth_ops.h"

#define MAX_IN 3
#define RUN 1024

/* Of one element; b and c are there for ops of two and three inputs. */
typedef double element_fn(double a, double b, double c, double alpha);

typedef struct job {
    const DLTensor *const *tensors;
    int n_in;
    element_fn *element;
    double alpha;
    int ndim; /* of the merged output */
    int64_t size[TRUTH_MAX_RANK];
    int64_t stride[MAX_IN][TRUTH_MAX_RANK];
    double *out;
} job;

/* --- elements ----------------------------------------------------------- */

static double relu(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return a < 0 ? 0 : a;
}

static double silu(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return a / (1 + exp(-a));
}

static double silu_long(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return (double)(a / (1 + expl(-(long double)a)));
}

static double sigmoid(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return 1 / (1 + exp(-a));
}

static double sigmoid_long(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return (double)(1 / (1 + expl(-(long double)a)));
}

static double tanh_double(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return tanh(a);
}

static double tanh_long(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return (double)tanhl(a);
}

static double exp_double(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return exp(a);
}

static double exp_long(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return (double)expl(a);
}

static double gelu(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return 0.5 * a * erfc(-a * 0.70710678118654752440);
}

static double gelu_long(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return (double)(0.5L * a * erfcl(-a * 0.70710678118654752440L));
}

/* (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)) for every u: tanh(u) is
 * (1 - exp(-2 u)) / (1 + exp(-2 u)), C11 7.12.5.6. 0.79788... is
 * sqrt(2 / pi). */
static double gelu_tanh(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    double u = 0.79788456080286535588 * (a + 0.044715 * a * a * a);
    return a / (1 + exp(-2 * u));
}

static double gelu_tanh_long(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    long double x = a;
    long double u = 0.79788456080286535588L * (x + 0.044715L * x * x * x);
    return (double)(x / (1 + expl(-2 * u)));
}

/* One rounding: correct in double for any operands. */
static double add(double a, double b, double c, double alpha)
{
    (void)c;
    return fma(alpha, b, a);
}

/* Correctly rounded in double, exact for narrower operands. */
static double mul(double a, double b, double c, double alpha)
{
    (void)c, (void)alpha;
    return a * b;
}

static double where(double a, double b, double c, double alpha)
{
    (void)alpha;
    return a != 0 ? b : c;
}

static double copy(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return a;
}

static double copy_bool(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return a != 0;
}

/* C11 6.3.1.4: toward zero. */
static double copy_integer(double a, double b, double c, double alpha)
{
    (void)b, (void)c, (void)alpha;
    return trunc(a);
}

/* --- iteration ---------------------------------------------------------- */

/* Aligned at the last dim; a size of 1 or a missing dim repeats. */
static bool job_shape(job *j)
{
    const DLTensor *y = j->tensors[j->n_in];
    j->ndim = y->ndim;
    for (int d = 0; d < y->ndim; d++)
        j->size[d] = y->shape[d];
    for (int i = 0; i < j->n_in; i++) {
        const DLTensor *x = j->tensors[i];
        int lead = y->ndim - x->ndim;
        if (lead < 0)
            return false;
        for (int d = 0; d < lead; d++)
            j->stride[i][d] = 0;
        for (int d = lead; d < y->ndim; d++) {
            int64_t size = x->shape[d - lead];
            if (size != 1 && size != y->shape[d])
                return false;
            j->stride[i][d] = size == 1 ? 0 : truth_stride(x, d - lead);
        }
    }
    return true;
}

/* Folds dim d + 1 into d where every input steps through both evenly. */
static bool job_fold(job *j, int d)
{
    for (int i = 0; i < j->n_in; i++)
        if (j->stride[i][d] != j->stride[i][d + 1] * j->size[d + 1])
            return false;
    j->size[d] *= j->size[d + 1];
    for (int i = 0; i < j->n_in; i++)
        j->stride[i][d] = j->stride[i][d + 1];
    j->ndim--;
    for (int k = d + 1; k < j->ndim; k++) {
        j->size[k] = j->size[k + 1];
        for (int i = 0; i < j->n_in; i++)
            j->stride[i][k] = j->stride[i][k + 1];
    }
    return true;
}

static void job_run(const job *j, const int64_t *offset, int64_t n, double *out)
{
    double in[MAX_IN][RUN] = {{0}};
    for (int i = 0; i < j->n_in; i++) {
        const DLTensor *x = j->tensors[i];
        const char *first = (const char *)x->data + x->byte_offset +
                            offset[i] * truth_size(x->dtype);
        truth_read_run(x->dtype, first, j->stride[i][j->ndim - 1], n, in[i]);
    }
    for (int64_t k = 0; k < n; k++)
        out[k] = j->element(in[0][k], in[1][k], in[2][k], j->alpha);
}

/* Outputs first .. last-1 in row-major order, in runs of the last dim. */
static void job_range(void *user, int64_t first, int64_t last)
{
    const job *j = user;
    int64_t width = j->size[j->ndim - 1];
    while (first < last) {
        int64_t offset[MAX_IN] = {0};
        int64_t rest = first;
        for (int d = j->ndim - 1; d >= 0; d--) {
            for (int i = 0; i < j->n_in; i++)
                offset[i] += rest % j->size[d] * j->stride[i][d];
            rest /= j->size[d];
        }
        int64_t n = width - first % width;
        n = n < RUN ? n : RUN;
        n = n < last - first ? n : last - first;
        job_run(j, offset, n, j->out + first);
        first += n;
    }
}

static int evaluate(const truth_call *call, int n_in, element_fn *element,
                    element_fn *element_long, double alpha, double *out)
{
    const DLTensor *y = call->tensors[n_in];
    job j = {.tensors = call->tensors, .n_in = n_in, .alpha = alpha};
    j.element = truth_is_f64(y->dtype) ? element_long : element;
    j.out = out;
    if (!job_shape(&j))
        return TRUTH_BAD_CALL;
    if (j.ndim == 0) {
        j.ndim = 1;
        j.size[0] = 1;
    }
    for (int d = j.ndim - 2; d >= 0; d--)
        job_fold(&j, d);
    truth_parallel(truth_numel(y), TRUTH_THREAD_ELEMENTS, job_range, &j);
    return TRUTH_OK;
}

/* --- ops ---------------------------------------------------------------- */

int truth_relu(const truth_call *call, double *out)
{
    return evaluate(call, 1, relu, relu, 0, out);
}

int truth_silu(const truth_call *call, double *out)
{
    return evaluate(call, 1, silu, silu_long, 0, out);
}

int truth_sigmoid(const truth_call *call, double *out)
{
    return evaluate(call, 1, sigmoid, sigmoid_long, 0, out);
}

int truth_tanh(const truth_call *call, double *out)
{
    return evaluate(call, 1, tanh_double, tanh_long, 0, out);
}

int truth_exp(const truth_call *call, double *out)
{
    return evaluate(call, 1, exp_double, exp_long, 0, out);
}

int truth_gelu(const truth_call *call, double *out)
{
    bool ok = true;
    const char *form = truth_attr_string(call, "approximate", "none", &ok);
    if (ok && strcmp(form, "none") == 0)
        return evaluate(call, 1, gelu, gelu_long, 0, out);
    if (ok && strcmp(form, "tanh") == 0)
        return evaluate(call, 1, gelu_tanh, gelu_tanh_long, 0, out);
    return TRUTH_BAD_CALL;
}

int truth_add(const truth_call *call, double *out)
{
    bool ok = true;
    double alpha = truth_attr_float(call, "alpha", 1.0, &ok);
    return ok ? evaluate(call, 2, add, add, alpha, out) : TRUTH_BAD_CALL;
}

int truth_mul(const truth_call *call, double *out)
{
    return evaluate(call, 2, mul, mul, 0, out);
}

int truth_where(const truth_call *call, double *out)
{
    return evaluate(call, 3, where, where, 0, out);
}

int truth_copy(const truth_call *call, double *out)
{
    DLDataType to = call->tensors[1]->dtype;
    if (to.code == kDLBool)
        return evaluate(call, 1, copy_bool, copy_bool, 0, out);
    if (!truth_is_float(to))
        return evaluate(call, 1, copy_integer, copy_integer, 0, out);
    return evaluate(call, 1, copy, copy, 0, out);
}
