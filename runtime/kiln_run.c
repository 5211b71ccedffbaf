#include "internal.h"

/* Enqueues on a workspace that lives for the call. */
static kiln_status enqueue_once(const kiln_context *ctx, const kiln_plan *plan,
                                void *stream)
{
    const kiln_allocator *allocator = &ctx->arena.allocator;
    const size_t bytes = kiln_plan_workspace(plan);
    void *memory;
    uintptr_t aligned;
    kiln_status status;

    if (bytes == 0) {
        return kiln_plan_enqueue(plan, NULL, NULL, stream);
    }
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
    status = kiln_plan_enqueue(plan, NULL, (void *)aligned, stream);
    allocator->release(allocator->user, memory);
    return status;
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
