/* plan.c: a call becomes a program: operands bound, a route chosen, steps
 * walked down to launches, temporaries placed.
 */
#include "plan.h"

#include <string.h>

#include "build.h"

static kiln_status evaluate_lets(kiln_build *build, kiln_call *call)
{
    kiln_scope scope = kiln_build_scope(build, call);
    char why[160];

    for (int i = 0; i < call->op->n_lets; i++) {
        kiln_result result;

        scope.n_lets = i;
        if (!kiln_expr_run(&call->op->lets[i].expr, &scope, &result, why,
                           sizeof why)) {
            return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                             "op %s: %s: %s: %s", call->op->name,
                             call->op->lets[i].name,
                             call->op->lets[i].expr.text, why);
        }
        if (result.value.kind == KILN_V_TENSOR) {
            return kiln_fail(build->err, KILN_INTERNAL,
                             "op %s: let %s is a tensor", call->op->name,
                             call->op->lets[i].name);
        }
        call->lets[i] = result.value;
    }
    return KILN_OK;
}

kiln_status kiln_build_holds(kiln_build *build, const kiln_call *call,
                             const kiln_expr *when, bool *holds)
{
    kiln_scope scope;
    char why[160];

    *holds = true;
    if (when->n_code == 0) {
        return KILN_OK;
    }
    scope = kiln_build_scope(build, call);
    if (!kiln_expr_bool(when, &scope, holds, why, sizeof why)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT, "op %s: %s: %s",
                         call->op->name, when->text, why);
    }
    return KILN_OK;
}

static kiln_status fail_route(kiln_build *build, const kiln_op *op,
                              const char *wanted)
{
    kiln_fail(build->err, KILN_INVALID_ARGUMENT,
              wanted != NULL ? "op %s: route \"%.40s\" does not hold or does "
                               "not exist; routes:"
                             : "op %s: no route holds for this call%.0s:",
              op->name, wanted != NULL ? wanted : "");
    for (int r = 0; r < op->n_routes; r++) {
        kiln_fail_more(build->err, "\n  %s%s%s", op->routes[r].name,
                       op->routes[r].when.n_code > 0 ? " when " : "",
                       op->routes[r].when.text);
    }
    return build->err->status;
}

/* First route that holds; at the top a wanted route must hold itself. */
static kiln_status choose_route(kiln_build *build, const kiln_call *call,
                                int *route)
{
    const kiln_op *op = call->op;
    const char *wanted = build->depth == 0 ? build->request->route : NULL;

    for (int r = 0; r < op->n_routes; r++) {
        bool holds;
        kiln_status status;

        if (wanted != NULL && strcmp(op->routes[r].name, wanted) != 0) {
            continue;
        }
        status = kiln_build_holds(build, call, &op->routes[r].when, &holds);
        if (status != KILN_OK) {
            return status;
        }
        if (holds) {
            *route = r;
            return KILN_OK;
        }
    }
    return fail_route(build, op, wanted);
}

static kiln_status plan_route(kiln_build *build, kiln_call *call, int route)
{
    const kiln_route *chosen = &call->op->routes[route];
    kiln_decision *decision = kiln_build_decision(build);

    if (decision == NULL) {
        return build->err->status;
    }
    decision->op = call->op;
    decision->route = chosen;
    decision->depth = build->depth;
    if (!chosen->composite) {
        return kiln_launch(build, call, route);
    }
    return kiln_build_steps(build, call, chosen);
}

kiln_status kiln_build_call(kiln_build *build, kiln_call *call)
{
    kiln_scope scope;
    kiln_status status;
    int route = 0;

    if (build->depth > KILN_MAX_DEPTH) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: steps nest deeper than %d", call->op->name,
                         KILN_MAX_DEPTH);
    }
    status = kiln_bind_check(call, build->err);
    if (status != KILN_OK || kiln_bind_empty(call)) {
        return status;
    }
    scope = kiln_build_scope(build, call);
    if ((status = evaluate_lets(build, call)) != KILN_OK ||
        (status = kiln_bind_check_shapes(call, &scope, build->err)) !=
            KILN_OK ||
        (status = choose_route(build, call, &route)) != KILN_OK) {
        return status;
    }
    return plan_route(build, call, route);
}

static kiln_status bind_operands(kiln_build *build, kiln_call *call)
{
    const kiln_request *request = build->request;
    kiln_program *program = build->program;
    int n = call->op->n_tensors;

    program->operands = kiln_arena_alloc(&program->arena,
                                         (size_t)n * sizeof *program->operands);
    if (program->operands == NULL) {
        return kiln_build_no_memory(build,
                                    (size_t)n * sizeof *program->operands);
    }
    for (int t = 0; t < n; t++) {
        const DLTensor *tensor = request->tensors[t];
        kiln_operand *operand = &program->operands[t];
        kiln_buffer *buffer = kiln_build_buffer(build);
        kiln_status status;

        if (buffer == NULL) {
            return build->err->status;
        }
        status = kiln_bind_tensor(call, t, tensor, request->device,
                                  &buffer->bytes, build->err);
        if (status != KILN_OK) {
            return status;
        }
        buffer->name = call->op->tensors[t].name;
        operand->view = call->tensors[t];
        operand->bytes = buffer->bytes;
        operand->base = tensor != NULL ? (uintptr_t)tensor->data : 0;
        operand->role = call->op->tensors[t].role;
        operand->align_log2 = 0;
        program->n_operands++;
    }
    call->n_tensors = n;
    return KILN_OK;
}

static kiln_status check_counts(const kiln_request *request, const kiln_op *op,
                                kiln_error *err)
{
    if (request->n_tensors == op->n_tensors) {
        return KILN_OK;
    }
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "op %s: takes %d tensors (absent ones NULL), got %d:", op->name,
              op->n_tensors, request->n_tensors);
    for (int t = 0; t < op->n_tensors; t++) {
        kiln_fail_more(err, " %s", op->tensors[t].name);
    }
    return err->status;
}

static kiln_status place_temporaries(kiln_build *build)
{
    kiln_program *program = build->program;
    int64_t limit = build->request->workspace_limit;

    if (!kiln_life_assign(program->buffers, program->n_buffers,
                          &program->workspace)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: workspace overflows int64", program->op->name);
    }
    if (limit > 0 && program->workspace > limit) {
        return kiln_fail(build->err, KILN_WORKSPACE_LIMIT,
                         "op %s: route %s needs %lld bytes of workspace, the "
                         "limit is %lld",
                         program->op->name, program->decisions[0].route->name,
                         (long long)program->workspace, (long long)limit);
    }
    return KILN_OK;
}

static kiln_status plan_all(kiln_build *build, int index)
{
    const kiln_request *request = build->request;
    kiln_program *program = build->program;
    uintptr_t base[KILN_MAX_TENSORS];
    kiln_call call;
    kiln_status status;

    call.op = program->op;
    call.index = index;
    call.scalars = 0;
    call.inner = false;
    call.n_tensors = 0;
    if ((status = bind_operands(build, &call)) != KILN_OK ||
        (status = kiln_bind_attrs(&call, request->attrs, request->n_attrs,
                                  build->err)) != KILN_OK ||
        (status = kiln_build_call(build, &call)) != KILN_OK) {
        return status;
    }
    for (int t = 0; t < program->n_operands; t++) {
        base[t] = program->operands[t].base;
    }
    status = kiln_program_check_overlap(program->op, program->operands,
                                        program->n_operands, base, build->err);
    return status == KILN_OK ? place_temporaries(build) : status;
}

static kiln_status fail_unknown_op(const kiln_tables *tables, const char *op,
                                   kiln_error *err)
{
    kiln_fail(err, KILN_INVALID_ARGUMENT, "no op \"%.60s\"; there are:", op);
    for (int i = 0; i < tables->n_ops; i++) {
        kiln_fail_more(err, " %s", tables->ops[i]->name);
    }
    return err->status;
}

kiln_status kiln_program_create(kiln_program **program,
                                const kiln_request *request, kiln_error *err)
{
    kiln_arena arena;
    kiln_build build;
    kiln_program *p;
    kiln_status status;
    int index;
    const kiln_op *op = kiln_find_op(request->tables, request->op, &index);

    *program = NULL;
    if (op == NULL) {
        return fail_unknown_op(request->tables, request->op, err);
    }
    if ((status = check_counts(request, op, err)) != KILN_OK) {
        return status;
    }
    kiln_arena_init(&arena, request->allocator);
    p = kiln_arena_alloc(&arena, sizeof *p);
    if (p == NULL) {
        return kiln_fail(err, KILN_OUT_OF_MEMORY,
                         "op %s: plan: allocation of %zu bytes was refused",
                         op->name, sizeof *p);
    }
    memset(p, 0, sizeof *p);
    p->arena = arena;
    p->op = op;
    build = (kiln_build){.request = request, .program = p, .err = err};
    status = plan_all(&build, index);
    if (status != KILN_OK) {
        kiln_program_destroy(p);
        return status;
    }
    *program = p;
    return KILN_OK;
}

void kiln_program_destroy(kiln_program *program)
{
    if (program != NULL) {
        kiln_arena_free(&program->arena);
    }
}
