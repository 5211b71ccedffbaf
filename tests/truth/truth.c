/* truth.c: the ops by name, and their attributes. */
#include <assert.h>
#include <string.h>

#include "truth_ops.h"

static const truth_op OPS[] = {
    {"add", 2, 1, truth_add},
    {"copy", 1, 1, truth_copy},
    {"exp", 1, 1, truth_exp},
    {"gelu", 1, 1, truth_gelu},
    {"log_softmax", 1, 1, truth_log_softmax},
    {"mul", 2, 1, truth_mul},
    {"relu", 1, 1, truth_relu},
    {"sigmoid", 1, 1, truth_sigmoid},
    {"silu", 1, 1, truth_silu},
    {"softmax", 1, 1, truth_softmax},
    {"tanh", 1, 1, truth_tanh},
    {"where", 3, 1, truth_where},
};

static const truth_op *op_find(const char *name)
{
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (strcmp(OPS[i].name, name) == 0)
            return &OPS[i];
    for (size_t i = 0; i < truth_n_user_ops; i++)
        if (strcmp(truth_user_ops[i].name, name) == 0)
            return &truth_user_ops[i];
    return NULL;
}

bool truth_arity(const char *op, int *n_in, int *n_out)
{
    const truth_op *found = op_find(op);
    if (!found)
        return false;
    *n_in = found->n_in;
    *n_out = found->n_out;
    return true;
}

static bool tensors_fit(const DLTensor *const *tensors, int n)
{
    for (int i = 0; i < n; i++)
        if (!tensors[i] || tensors[i]->ndim > TRUTH_MAX_RANK ||
            truth_size(tensors[i]->dtype) == 0)
            return false;
    return true;
}

int truth_eval(const char *op, const DLTensor *const *tensors, int n,
               const kiln_attr *attrs, int n_attrs, int output_index,
               double *out)
{
    assert(op && tensors && out && output_index >= 0);
    const truth_op *found = op_find(op);
    if (!found)
        return TRUTH_UNKNOWN_OP;
    if (n != found->n_in + found->n_out || output_index >= found->n_out ||
        !tensors_fit(tensors, n))
        return TRUTH_BAD_CALL;
    truth_call call = {tensors, n, attrs, n_attrs};
    return found->eval(&call, out);
}

static const kiln_attr *attr_find(const truth_call *call, const char *name,
                                  kiln_attr_kind kind, bool *ok)
{
    for (int i = 0; i < call->n_attrs; i++) {
        if (strcmp(call->attrs[i].name, name) != 0)
            continue;
        if (call->attrs[i].kind == kind)
            return &call->attrs[i];
        *ok = false;
    }
    return NULL;
}

int64_t truth_attr_int(const truth_call *call, const char *name, int64_t other,
                       bool *ok)
{
    const kiln_attr *attr = attr_find(call, name, KILN_ATTR_INT, ok);
    return attr ? attr->value.i : other;
}

bool truth_attr_bool(const truth_call *call, const char *name, bool other,
                     bool *ok)
{
    const kiln_attr *attr = attr_find(call, name, KILN_ATTR_BOOL, ok);
    return attr ? attr->value.i != 0 : other;
}

static double in_compute_type(const truth_call *call, double value)
{
    for (int i = 0; i < call->n_tensors; i++)
        if (truth_is_f64(call->tensors[i]->dtype))
            return value;
    return (double)(float)value;
}

static double attr_number(const truth_call *call, const char *name,
                          double other, bool *ok)
{
    bool is_float = true;
    const kiln_attr *attr = attr_find(call, name, KILN_ATTR_FLOAT, &is_float);
    if (is_float)
        return attr ? attr->value.f : other;
    attr = attr_find(call, name, KILN_ATTR_INT, ok);
    return attr ? (double)attr->value.i : other;
}

double truth_attr_float(const truth_call *call, const char *name, double other,
                        bool *ok)
{
    return in_compute_type(call, attr_number(call, name, other, ok));
}

const char *truth_attr_string(const truth_call *call, const char *name,
                              const char *other, bool *ok)
{
    const kiln_attr *attr = attr_find(call, name, KILN_ATTR_STRING, ok);
    return attr ? attr->value.s : other;
}
