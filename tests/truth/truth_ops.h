/* truth_ops.h: what the files of truth share: one op's evaluation. */
#ifndef KILN_TESTS_TRUTH_OPS_H
#define KILN_TESTS_TRUTH_OPS_H

#include "truth.h"

/* Work below this many elements stays on one thread. */
#define TRUTH_THREAD_ELEMENTS 32768

typedef struct truth_call {
    const DLTensor *const *tensors; /* inputs, then outputs */
    int n_tensors;
    const kiln_attr *attrs;
    int n_attrs;
} truth_call;

typedef int truth_fn(const truth_call *call, double *out);

typedef struct truth_op {
    const char *name;
    int n_in;
    int n_out;
    truth_fn *eval;
} truth_op;

/* Ops beyond ours: a user's own file defines both in place of truth_user.c
 * (make certify TRUTH_USER=FILE). */
extern const truth_op truth_user_ops[];
extern const size_t truth_n_user_ops;

/* The attribute of that name, or the default. *ok turns false when it is of
 * another kind. A float is rounded to the type that the op computes in, as
 * PyTorch does (at::opmath_type): double where any tensor is f64, else float.
 */
int64_t truth_attr_int(const truth_call *call, const char *name, int64_t other,
                       bool *ok);
bool truth_attr_bool(const truth_call *call, const char *name, bool other,
                     bool *ok);
double truth_attr_float(const truth_call *call, const char *name, double other,
                        bool *ok);
const char *truth_attr_string(const truth_call *call, const char *name,
                              const char *other, bool *ok);

/* Dim d's stride in elements, also where strides are NULL (row-major). */
int64_t truth_stride(const DLTensor *tensor, int d);
bool truth_is_f64(DLDataType type);
bool truth_is_float(DLDataType type);

truth_fn truth_relu, truth_silu, truth_sigmoid, truth_tanh, truth_exp,
    truth_gelu, truth_add, truth_mul, truth_where, truth_copy;
truth_fn truth_softmax, truth_log_softmax;

#endif /* KILN_TESTS_TRUTH_OPS_H */
