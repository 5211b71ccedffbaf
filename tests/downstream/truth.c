/* truth.c: what a user's op must compute, in double, for its certification.
 */
#include "truth/truth_ops.h"

/* scale * max(x, 0)^2; an f16 or f32 input squares exactly in double. */
static int squared_relu(const truth_call *call, double *out)
{
    bool ok = true;
    double scale = truth_attr_float(call, "scale", 1.0, &ok);
    int64_t n = truth_numel(call->tensors[0]);

    for (int64_t i = 0; i < n; i++) {
        double x = truth_read(call->tensors[0], i);

        out[i] = scale * (x < 0 ? 0 : x * x);
    }
    return ok ? TRUTH_OK : TRUTH_BAD_CALL;
}

const truth_op truth_user_ops[] = {{"squared_relu", 1, 1, squared_relu}};
const size_t truth_n_user_ops = 1;
