/* main.c: calls the op that tests/downstream/spec adds by YAML alone. The
 * values asserted are squares, exact in f32.
 */
#include <stdio.h>

#include "kiln/ops.h"

int main(void)
{
    float x[6] = {-2.0f, -0.0f, 0.5f, 1.5f, 3.0f, 100.0f};
    static const float want[6] = {0.0f, 0.0f, 0.5f, 4.5f, 18.0f, 20000.0f};
    float y[6];
    int64_t shape[] = {2, 3};
    DLTensor in = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
    DLTensor out = in;
    kiln_context *ctx = NULL;
    int failed = 0;

    out.data = y;
    if (kiln_context_create(&ctx, in.device, NULL) != KILN_OK ||
        kiln_squared_relu(ctx, &in, &out, 2.0, NULL) != KILN_OK) {
        printf("not ok call: %s\n", kiln_last_error());
        return 1;
    }
    for (int i = 0; i < 6; i++) {
        failed += y[i] != want[i];
    }
    printf("%sok squared_relu: 2 * max(x, 0)^2\n", failed ? "not " : "");
    in.dtype.bits = out.dtype.bits = 64;
    printf("%sok f64, which its spec lacks, is refused\n",
           kiln_squared_relu(ctx, &in, &out, 2.0, NULL) == KILN_INVALID_ARGUMENT
               ? ""
               : "not ");
    kiln_context_destroy(ctx);
    return failed > 0;
}
