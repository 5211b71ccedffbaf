#include "internal.h"

#include <string.h>

/* --- creation ------------------------------------------------------------- */

static kiln_status fail_argument(const char *function, const char *what)
{
    return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT, "%s: %s",
                     function, what);
}

/* The rest is for the planner, which knows the op. */
static kiln_status check_call(const char *function, const kiln_request *call)
{
    const char *defect = NULL;

    if (call->op == NULL) {
        defect = "op is NULL";
    } else if (call->n_tensors < 0) {
        defect = "n_tensors is negative";
    } else if (call->n_tensors > 0 && call->tensors == NULL) {
        defect = "tensors is NULL";
    } else if (call->n_attrs < 0) {
        defect = "n_attrs is negative";
    } else if (call->n_attrs > 0 && call->attrs == NULL) {
        defect = "attrs is NULL";
    }
    return defect == NULL ? KILN_OK : fail_argument(function, defect);
}

/* Whether the log still has to hear of this route; it counts as heard then. */
static bool first_heard(const kiln_context *ctx, const kiln_decision *decision)
{
    ptrdiff_t at = decision->route - decision->op->routes;

    for (int32_t i = 0; ctx->tables->ops[i] != decision->op; i++) {
        at += ctx->tables->ops[i]->n_routes;
    }
    return !atomic_exchange(&ctx->heard[at], true);
}

static void log_decisions(const kiln_context *ctx, const kiln_program *program)
{
    char text[KILN_ERROR_TEXT];

    for (int32_t i = 0; i < program->n_decisions; i++) {
        if (first_heard(ctx, &program->decisions[i])) {
            kiln_describe_decision(ctx, &program->decisions[i], text,
                                   sizeof text);
            ctx->log(ctx->log_user, text);
        }
    }
}

/* The functions follow the plan in memory: a CUDA plan's prepare takes none. */
static kiln_plan *wrap_program(kiln_context *ctx, kiln_program *program)
{
    size_t n = ctx->cuda != NULL ? (size_t)program->n_nodes : 0;
    size_t bytes = sizeof(kiln_plan) + n * sizeof(kiln_cu_function);
    kiln_plan *plan = kiln_arena_alloc(&program->arena, bytes);

    if (plan == NULL) {
        kiln_fail(kiln_thread_error(), KILN_OUT_OF_MEMORY,
                  "op %s: plan: allocation of %zu bytes was refused",
                  program->op->name, bytes);
        kiln_program_destroy(program);
        return NULL;
    }
    memset(plan, 0, bytes);
    plan->context = ctx;
    plan->program = program;
    plan->functions = (kiln_cu_function *)(void *)(plan + 1);
    atomic_init(&plan->prepared, false);
    return plan;
}

static kiln_request make_request(const kiln_context *ctx)
{
    return (kiln_request){
        .tables = ctx->tables,
        .tier = ctx->tier,
        .arch = ctx->arch,
        .device = ctx->device,
        .config = ctx->config,
        .route = ctx->route,
        .workspace_limit = ctx->workspace_limit,
        .accept_forced = ctx->accept_forced,
        .fault = ctx->cuda != NULL ? kiln_cuda_fault_address(ctx->cuda) : 0,
        .allocator = &ctx->arena.allocator,
    };
}

kiln_status kiln_plan_create(kiln_plan **plan, kiln_context *ctx,
                             const char *op, const DLTensor *const *tensors,
                             int n_tensors, const kiln_attr *attrs, int n_attrs)
{
    kiln_request request;
    kiln_program *program;
    kiln_status status;

    if (plan == NULL) {
        return fail_argument(__func__, "plan is NULL");
    }
    *plan = NULL;
    if (ctx == NULL) {
        return fail_argument(__func__, "ctx is NULL");
    }
    request = make_request(ctx);
    request.op = op;
    request.tensors = tensors;
    request.n_tensors = n_tensors;
    request.attrs = attrs;
    request.n_attrs = n_attrs;
    if ((status = kiln_context_check_process(ctx, __func__)) != KILN_OK ||
        (status = check_call(__func__, &request)) != KILN_OK ||
        (status = kiln_program_create(&program, &request,
                                      kiln_thread_error())) != KILN_OK) {
        return status;
    }
    *plan = wrap_program(ctx, program);
    if (*plan == NULL) {
        return KILN_OUT_OF_MEMORY;
    }
    if (ctx->log != NULL) {
        log_decisions(ctx, program);
    }
    return KILN_OK;
}

void kiln_plan_destroy(kiln_plan *plan)
{
    if (plan != NULL) {
        kiln_program_destroy(plan->program);
    }
}

/* --- prepared plans ------------------------------------------------------- */

/* What every call on a plan asks first. */
static kiln_status check_plan(const kiln_plan *plan, const char *function)
{
    if (plan == NULL) {
        return fail_argument(function, "plan is NULL");
    }
    return kiln_context_check_process(plan->context, function);
}

static kiln_status prepare_cuda(kiln_plan *plan, void *stream)
{
    kiln_cuda *cuda = plan->context->cuda;
    kiln_error *err = kiln_thread_error();
    kiln_status status =
        kiln_cuda_check_capture(cuda, stream, "kiln_plan_prepare", err);

    return status == KILN_OK
               ? kiln_cuda_prepare(cuda, plan->program, plan->functions, err)
               : status;
}

static kiln_status prepare_cpu(kiln_plan *plan, void *stream)
{
    if (stream != NULL) {
        return fail_argument("kiln_plan_prepare",
                             "the cpu has no streams: pass NULL");
    }
    if (kiln_cpu_is_parallel(plan->program)) {
        kiln_pool_start(&plan->context->pool);
    }
    return KILN_OK;
}

kiln_status kiln_plan_prepare(kiln_plan *plan, void *stream)
{
    kiln_status status = check_plan(plan, __func__);

    if (status != KILN_OK) {
        return status;
    }
    if (plan->context->cuda == NULL) {
        status = prepare_cpu(plan, stream);
    } else if (!atomic_load_explicit(&plan->prepared, memory_order_acquire)) {
        status = prepare_cuda(plan, stream);
    }
    if (status == KILN_OK) {
        atomic_store_explicit(&plan->prepared, true, memory_order_release);
    }
    return status;
}

size_t kiln_plan_workspace(const kiln_plan *plan)
{
    return plan != NULL ? (size_t)plan->program->workspace : 0;
}

static void fill_buffers(kiln_buffer_cost *out, int32_t n,
                         const kiln_buffer *buffers)
{
    for (int32_t i = 0; i < n; i++) {
        out[i] = (kiln_buffer_cost){buffers[i].name, buffers[i].bytes,
                                    buffers[i].offset, buffers[i].first,
                                    buffers[i].last};
    }
}

kiln_status kiln_plan_cost(const kiln_plan *plan, kiln_cost *cost)
{
    kiln_status status = check_plan(plan, __func__);
    const kiln_program *program;
    int32_t room;

    if (status != KILN_OK) {
        return status;
    }
    if (cost == NULL) {
        return fail_argument(__func__, "cost is NULL");
    }
    if (cost->buffer_capacity < 0 ||
        (cost->buffer_capacity > 0 && cost->buffers == NULL)) {
        return fail_argument(__func__,
                             "cost.buffer_capacity does not fit cost.buffers");
    }
    program = plan->program;
    room = cost->buffer_capacity;
    fill_buffers(cost->buffers,
                 room < program->n_buffers ? room : program->n_buffers,
                 program->buffers);
    cost->workspace_bytes = program->workspace;
    cost->bytes_read = program->bytes_read;
    cost->bytes_written = program->bytes_written;
    cost->flops = program->flops;
    cost->launches = program->n_nodes;
    cost->n_buffers = program->n_buffers;
    return KILN_OK;
}

/* --- enqueue -------------------------------------------------------------- */

static kiln_status fail_pointer(const kiln_program *program, int32_t i,
                                const char *what, int64_t wanted)
{
    return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT,
                     "op %s: tensor %s: %s %lld bytes", program->op->name,
                     program->buffers[i].name, what, (long long)wanted);
}

/* A pointer that creation has not seen keeps what the plan relied on: views
 * inside the plan may start anywhere in the tensor, so what counts is the
 * distance to the planned pointer. */
static kiln_status check_pointer(const kiln_program *program, int32_t i,
                                 uintptr_t base)
{
    const kiln_operand *operand = &program->operands[i];
    uint64_t address = (uint64_t)base + (uint64_t)operand->view.offset;
    int64_t element = kiln_dtype_size((kiln_dtype)operand->view.dtype);
    int64_t planned = (int64_t)1 << operand->align_log2;

    if ((address & (uint64_t)(element - 1)) != 0) {
        return fail_pointer(
            program, i, "data is not aligned to its element size,", element);
    }
    if (((base ^ operand->base) & (uint64_t)(planned - 1)) != 0) {
        return fail_pointer(program, i,
                            "data is less aligned than planned; make a plan "
                            "for this pointer, or pass one that differs from "
                            "the planned (NULL: from 0) by a multiple of",
                            planned);
    }
    return KILN_OK;
}

static kiln_status take_pointer(const kiln_program *program, int32_t i,
                                uintptr_t base, bool *moved)
{
    const kiln_operand *operand = &program->operands[i];

    if (operand->view.dtype == KILN_NONE ||
        kiln_view_is_empty(&operand->view)) {
        return KILN_OK;
    }
    if (base == 0) {
        return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT,
                         "op %s: tensor %s: data is NULL", program->op->name,
                         program->buffers[i].name);
    }
    if (base == operand->base) {
        return KILN_OK;
    }
    *moved = true;
    return check_pointer(program, i, base);
}

/* Fills base for the caller's tensors. */
static kiln_status place_operands(const kiln_program *program,
                                  void *const *data, uintptr_t *base)
{
    bool moved = false;

    for (int32_t i = 0; i < program->n_operands; i++) {
        const kiln_operand *operand = &program->operands[i];
        kiln_status status;

        base[i] = data != NULL ? (uintptr_t)data[i] : operand->base;
        if (operand->view.dtype == KILN_NONE) {
            base[i] = 0;
        }
        status = take_pointer(program, i, base[i], &moved);
        if (status != KILN_OK) {
            return status;
        }
    }
    if (!moved) {
        return KILN_OK;
    }
    return kiln_program_check_overlap(program->op, program->operands,
                                      program->n_operands, base,
                                      kiln_thread_error());
}

/* Fills base for the temporaries. */
static kiln_status place_temporaries(const kiln_program *program,
                                     void *workspace, uintptr_t *base)
{
    if (program->workspace > 0 && workspace == NULL) {
        return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT,
                         "op %s: workspace is NULL; the plan needs %lld bytes",
                         program->op->name, (long long)program->workspace);
    }
    if (program->workspace > 0 &&
        (uintptr_t)workspace % KILN_WORKSPACE_ALIGN != 0) {
        return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT,
                         "op %s: workspace is not aligned to %d bytes",
                         program->op->name, KILN_WORKSPACE_ALIGN);
    }
    for (int32_t i = program->n_operands; i < program->n_buffers; i++) {
        base[i] = (uintptr_t)workspace + (uintptr_t)program->buffers[i].offset;
    }
    return KILN_OK;
}

static kiln_status run(const kiln_plan *plan, const uintptr_t *base,
                       void *stream)
{
    kiln_context *ctx = plan->context;

    if (ctx->cuda != NULL) {
        return kiln_cuda_run(ctx->cuda, plan->program, plan->functions, base,
                             stream, kiln_thread_error());
    }
    kiln_cpu_run(plan->program, &ctx->pool, base);
    return KILN_OK;
}

kiln_status kiln_plan_enqueue(const kiln_plan *plan, void *const *data,
                              void *workspace, void *stream)
{
    uintptr_t base[KILN_MAX_BUFFERS];
    kiln_status status = check_plan(plan, __func__);

    if (status != KILN_OK) {
        return status;
    }
    if (!atomic_load_explicit(&plan->prepared, memory_order_acquire)) {
        return kiln_fail(kiln_thread_error(), KILN_NOT_PREPARED,
                         "op %s: call kiln_plan_prepare before enqueue",
                         plan->program->op->name);
    }
    if (stream != NULL && plan->context->cuda == NULL) {
        return fail_argument(__func__, "the cpu has no streams: pass NULL");
    }
    if (plan->program->n_nodes == 0) {
        return KILN_OK;
    }
    if ((status = place_operands(plan->program, data, base)) != KILN_OK ||
        (status = place_temporaries(plan->program, workspace, base)) !=
            KILN_OK) {
        return status;
    }
    return run(plan, base, stream);
}
