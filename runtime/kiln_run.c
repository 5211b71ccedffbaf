#include "internal.h"

/* Enqueues on host memory that lives for the call. */
static kiln_status enqueue_on_host(const kiln_context *ctx,
                                   const kiln_plan *plan, size_t bytes)
{
    const kiln_allocator *allocator = &ctx->arena.allocator;
    void *memory;
    uintptr_t aligned;
    kiln_status status;

    memory = bytes <= SIZE_MAX - KILN_WORKSPACE_ALIGN
                 ? allocator->allocate(allocator->user,
                                       bytes + KILN_WORKSPACE_ALIGN - 1)
                 : NULL;
    if (memory == NULL) {
        return kiln_fail(kiln_thread_error(), KILN_OUT_OF_MEMORY,
                         "op %s: workspace: %zu bytes refused",
                         plan->program->op->name, bytes);
    }
    aligned = ((uintptr_t)memory + KILN_WORKSPACE_ALIGN - 1) &
              ~(uintptr_t)(KILN_WORKSPACE_ALIGN - 1);
    status = kiln_plan_enqueue(plan, NULL, (void *)aligned, NULL);
    allocator->release(allocator->user, memory);
    return status;
}

/* Enqueues on device memory that is taken and given back in the order of the
 * stream's work; the first error stands. */
static kiln_status enqueue_on_device(const kiln_context *ctx,
                                     const kiln_plan *plan, size_t bytes,
                                     void *stream)
{
    kiln_error *err = kiln_thread_error();
    kiln_error later;
    kiln_status status;
    kiln_status freed;
    void *memory;

    if (kiln_cuda_take(ctx->cuda, bytes, stream, &memory, err) != KILN_OK) {
        kiln_fail_more(err, ": workspace of op %s", plan->program->op->name);
        return err->status;
    }
    status = kiln_plan_enqueue(plan, NULL, memory, stream);
    freed = kiln_cuda_give(ctx->cuda, memory, stream,
                           status == KILN_OK ? err : &later);
    return status == KILN_OK ? freed : status;
}

static kiln_status enqueue_once(const kiln_context *ctx, const kiln_plan *plan,
                                void *stream)
{
    const size_t bytes = kiln_plan_workspace(plan);

    if (bytes == 0) {
        return kiln_plan_enqueue(plan, NULL, NULL, stream);
    }
    return ctx->cuda != NULL ? enqueue_on_device(ctx, plan, bytes, stream)
                             : enqueue_on_host(ctx, plan, bytes);
}

kiln_status kiln_run(kiln_context *ctx, const char *op,
                     const DLTensor *const *tensors, int n_tensors,
                     const kiln_attr *attrs, int n_attrs, void *stream)
{
    kiln_plan *plan = NULL;
    kiln_status status =
        kiln_plan_create(&plan, ctx, op, tensors, n_tensors, attrs, n_attrs);

    if (status == KILN_OK) {
        status = kiln_plan_prepare(plan, stream);
    }
    if (status == KILN_OK) {
        status = enqueue_once(ctx, plan, stream);
    }
    kiln_plan_destroy(plan);
    return status;
}
