#include <assert.h>
#include <string.h>

#include "state.h"

/* --- captures ------------------------------------------------------------- */

static kiln_status fail_capture(const char *what, kiln_error *err)
{
    return kiln_fail(err, KILN_INVALID_ARGUMENT,
                     "%s: the stream is being captured; prepare plans before "
                     "the capture, with a workspace that outlives its graph, "
                     "and capture kiln_plan_enqueue alone",
                     what);
}

/* CAPTURE_IMPLICIT: the legacy default stream, while a stream that it waits
 * for is captured (cuStreamIsCapturing). */
kiln_status kiln_cuda_check_capture(const kiln_cuda *cuda, void *stream,
                                    const char *what, kiln_error *err)
{
    int capture = KILN_CU_CAPTURE_NONE;
    kiln_cuda_scope scope;
    kiln_cu_result result;

    if (kiln_cuda_enter(cuda, &scope, err) != KILN_OK) {
        return err->status;
    }
    result = cuda->driver.stream_is_capturing(stream, &capture);
    kiln_cuda_leave(cuda, &scope);
    if (result == KILN_CU_CAPTURE_IMPLICIT ||
        (result == KILN_CU_SUCCESS && capture != KILN_CU_CAPTURE_NONE)) {
        return fail_capture(what, err);
    }
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "%s: cuStreamIsCapturing", what);
    }
    return KILN_OK;
}

/* --- launches ------------------------------------------------------------- */

static kiln_cu_result launch(const kiln_cuda *cuda, const kiln_node *node,
                             kiln_cu_function function, const uintptr_t *base,
                             kiln_cu_stream stream)
{
    uint64_t args[KILN_MAX_SLOTS];
    size_t bytes = (size_t)node->n_args * sizeof *args;
    void *extra[] = {KILN_CU_PARAM_BUFFER, args, KILN_CU_PARAM_SIZE, &bytes,
                     KILN_CU_PARAM_END};
    kiln_cu_launch_attribute cluster;
    kiln_cu_launch_config config = {
        .grid_x = (unsigned)node->units,
        .grid_y = 1,
        .grid_z = 1,
        .block_x = (unsigned)node->threads,
        .block_y = 1,
        .block_z = 1,
        .shared_bytes = (unsigned)node->shared,
        .stream = stream,
    };

    assert(node->n_args <= KILN_MAX_SLOTS);
    memcpy(args, node->args, bytes);
    for (int32_t i = 0; i < node->n_patches; i++) {
        const kiln_patch *patch = &node->patches[i];

        args[patch->slot] = base[patch->buffer] + (uint64_t)patch->offset;
    }
    if (node->cluster > 1) {
        memset(&cluster, 0, sizeof cluster);
        cluster.id = KILN_CU_LAUNCH_CLUSTER;
        cluster.value.cluster.x = (unsigned)node->cluster;
        cluster.value.cluster.y = 1;
        cluster.value.cluster.z = 1;
        config.attributes = &cluster;
        config.n_attributes = 1;
    }
    return cuda->driver.launch_kernel_ex(&config, function, NULL, extra);
}

static kiln_cu_result clear(const kiln_cuda *cuda, const kiln_buffer *buffer,
                            uintptr_t base, kiln_cu_stream stream)
{
    if (buffer->bytes == 0) {
        return KILN_CU_SUCCESS;
    }
    return cuda->driver.memset_d8_async(base, 0, (size_t)buffer->bytes, stream);
}

static kiln_cu_result run_node(const kiln_cuda *cuda,
                               const kiln_program *program, int32_t i,
                               kiln_cu_function function, const uintptr_t *base,
                               kiln_cu_stream stream)
{
    const kiln_node *node = &program->nodes[i];

    if (node->memset_buffer >= 0) {
        return clear(cuda, &program->buffers[node->memset_buffer],
                     base[node->memset_buffer], stream);
    }
    if (node->units == 0) {
        return KILN_CU_SUCCESS;
    }
    return launch(cuda, node, function, base, stream);
}

static kiln_status fail_node(const kiln_cuda *cuda, const kiln_program *program,
                             int32_t i, kiln_cu_result result, kiln_error *err)
{
    const kiln_node *node = &program->nodes[i];

    if (node->memset_buffer >= 0) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "op %s: launch %d: cuMemsetD8Async",
                              program->op->name, (int)i);
    }
    return kiln_cuda_fail(&cuda->driver, result, err,
                          "op %s: launch %d, kernel %s: cuLaunchKernelEx",
                          program->op->name, (int)i, node->kernel->symbol);
}

kiln_status kiln_cuda_run(const kiln_cuda *cuda, const kiln_program *program,
                          const kiln_cu_function *functions,
                          const uintptr_t *base, void *stream, kiln_error *err)
{
    kiln_cu_result result = KILN_CU_SUCCESS;
    kiln_cuda_scope scope;
    int32_t i;

    if (kiln_cuda_enter(cuda, &scope, err) != KILN_OK) {
        return err->status;
    }
    for (i = 0; i < program->n_nodes; i++) {
        result = run_node(cuda, program, i, functions[i], base, stream);
        if (result != KILN_CU_SUCCESS) {
            break;
        }
    }
    kiln_cuda_leave(cuda, &scope);
    return result == KILN_CU_SUCCESS ? KILN_OK
                                     : fail_node(cuda, program, i, result, err);
}

/* --- memory in the stream's order ----------------------------------------- */

kiln_status kiln_cuda_take(const kiln_cuda *cuda, size_t bytes, void *stream,
                           void **memory, kiln_error *err)
{
    kiln_cu_pointer pointer = 0;
    kiln_cuda_scope scope;
    kiln_cu_result result;

    *memory = NULL;
    if (kiln_cuda_enter(cuda, &scope, err) != KILN_OK) {
        return err->status;
    }
    result = cuda->driver.mem_alloc_async(&pointer, bytes, stream);
    kiln_cuda_leave(cuda, &scope);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "cuMemAllocAsync of %zu bytes", bytes);
    }
    *memory = (void *)(uintptr_t)pointer;
    return KILN_OK;
}

kiln_status kiln_cuda_give(const kiln_cuda *cuda, void *memory, void *stream,
                           kiln_error *err)
{
    kiln_cuda_scope scope;
    kiln_cu_result result;

    if (kiln_cuda_enter(cuda, &scope, err) != KILN_OK) {
        return err->status;
    }
    result = cuda->driver.mem_free_async((uintptr_t)memory, stream);
    kiln_cuda_leave(cuda, &scope);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err, "cuMemFreeAsync");
    }
    return KILN_OK;
}
