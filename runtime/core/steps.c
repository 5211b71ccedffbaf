/* steps.c: a composite route: temporaries, steps and loops, down to calls. */
#include "build.h"

/* Within steps a tensor of rank 0 is one of shape [1]. */
static void give_rank(kiln_view *view)
{
    if (view->ndim == 0) {
        view->ndim = 1;
        view->size[0] = 1;
        view->stride[0] = 1;
    }
}

static kiln_status add_temporary(kiln_build *build, kiln_call *call,
                                 const kiln_temporary *temporary)
{
    kiln_view *view = &call->tensors[call->n_tensors];
    kiln_scope scope = kiln_build_scope(build, call);
    kiln_buffer *buffer;
    int64_t low;
    char why[160];

    view->dtype = temporary->dtype_like >= 0
                      ? call->tensors[temporary->dtype_like].dtype
                      : temporary->dtype;
    view->ndim = (uint8_t)temporary->n_shape;
    view->offset = 0;
    for (int d = 0; d < temporary->n_shape; d++) {
        if (!kiln_expr_int(&temporary->shape[d], &scope, &view->size[d], why,
                           sizeof why)) {
            return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                             "op %s: temporary %s: %s: %s", call->op->name,
                             temporary->name, temporary->shape[d].text, why);
        }
        if (view->size[d] < 0) {
            return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                             "op %s: temporary %s: negative size",
                             call->op->name, temporary->name);
        }
    }
    buffer = kiln_build_buffer(build);
    if (buffer == NULL) {
        return build->err->status;
    }
    buffer->name = temporary->name;
    buffer->offset = 0;
    view->buffer = build->program->n_buffers - 1;
    if (!kiln_view_pack(view) ||
        !kiln_view_extent(view, &low, &buffer->bytes)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: temporary %s: size overflows int64",
                         call->op->name, temporary->name);
    }
    give_rank(view);
    call->n_tensors++;
    return KILN_OK;
}

static kiln_status clear_temporary(kiln_build *build, int32_t number)
{
    kiln_program *program = build->program;
    kiln_buffer *buffer = &program->buffers[number];
    kiln_node *node;

    if (buffer->bytes == 0) {
        return KILN_OK;
    }
    node = kiln_build_node(build);
    if (node == NULL ||
        !kiln_build_count(build, &program->bytes_written, buffer->bytes)) {
        return build->err->status;
    }
    node->memset_buffer = number;
    buffer->first = program->n_nodes - 1;
    buffer->last = buffer->first;
    return KILN_OK;
}

static kiln_status add_temporaries(kiln_build *build, kiln_call *call,
                                   const kiln_route *route)
{
    kiln_status status = KILN_OK;

    for (int i = 0; i < route->n_temporaries && status == KILN_OK; i++) {
        status = add_temporary(build, call, &route->temporaries[i]);
        if (status == KILN_OK && route->temporaries[i].zeroed) {
            status = clear_temporary(build, build->program->n_buffers - 1);
        }
    }
    return status;
}

static kiln_status bind_step_tensors(kiln_build *build, const kiln_call *call,
                                     const kiln_step *step, kiln_call *callee)
{
    kiln_scope scope = kiln_build_scope(build, call);

    callee->n_tensors = callee->op->n_tensors;
    callee->scalars = 0;
    callee->inner = true;
    for (int t = 0; t < callee->n_tensors; t++) {
        callee->tensors[t].dtype = KILN_NONE;
        callee->tensors[t].ndim = 0;
        callee->tensors[t].buffer = 0;
        callee->tensors[t].offset = 0;
    }
    for (int i = 0; i < step->n_tensors; i++) {
        const kiln_binding *binding = &step->tensors[i];
        kiln_result result;
        char why[160];
        bool done =
            kiln_expr_run(&binding->expr, &scope, &result, why, sizeof why);

        if (!done || result.value.kind != KILN_V_TENSOR) {
            return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                             "op %s: step %s: %s: %s: %s", call->op->name,
                             step->op, callee->op->tensors[binding->slot].name,
                             binding->expr.text,
                             done ? "is not a tensor" : why);
        }
        if (result.view.dtype != KILN_NONE) {
            give_rank(&result.view);
        }
        callee->tensors[binding->slot] = result.view;
    }
    return KILN_OK;
}

/* A step's attribute as the public kind, so that one binder checks both. */
static kiln_attr to_attr(const kiln_op_attr *attr, const kiln_value *value)
{
    kiln_attr out = {.name = attr->name};

    switch (value->kind) {
    case KILN_V_FLOAT:
        out.kind = KILN_ATTR_FLOAT;
        out.value.f = value->f;
        break;
    case KILN_V_BOOL:
        out.kind = KILN_ATTR_BOOL;
        out.value.i = value->i;
        break;
    case KILN_V_INT:
        out.kind = KILN_ATTR_INT;
        out.value.i = value->i;
        break;
    default: /* no kind: refused by the binder */
        break;
    }
    if (attr->type == KILN_TYPE_STRING && value->kind == KILN_V_INT &&
        value->i >= 0 && value->i < attr->n_choices) {
        out.kind = KILN_ATTR_STRING;
        out.value.s = attr->choices[value->i];
    }
    return out;
}

static kiln_status bind_step_attrs(kiln_build *build, const kiln_call *call,
                                   const kiln_step *step, kiln_call *callee)
{
    kiln_scope scope = kiln_build_scope(build, call);
    kiln_attr attrs[KILN_MAX_ATTRS];

    for (int i = 0; i < step->n_attrs; i++) {
        const kiln_binding *binding = &step->attrs[i];
        kiln_result result;
        char why[160];

        if (!kiln_expr_run(&binding->expr, &scope, &result, why, sizeof why)) {
            return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                             "op %s: step %s: %s: %s: %s", call->op->name,
                             step->op, callee->op->attrs[binding->slot].name,
                             binding->expr.text, why);
        }
        attrs[i] = to_attr(&callee->op->attrs[binding->slot], &result.value);
    }
    return kiln_bind_attrs(callee, attrs, step->n_attrs, build->err);
}

/* Inside a composite, operands of one buffer must keep the callee's rule;
 * distinct buffers never meet. */
static kiln_status check_step_overlap(kiln_build *build,
                                      const kiln_call *callee)
{
    kiln_operand operands[KILN_MAX_TENSORS];
    int n = callee->op->n_tensors;
    kiln_status status = KILN_OK;

    for (int t = 0; t < n; t++) {
        operands[t].view = callee->tensors[t];
        operands[t].bytes = INT64_MAX; /* as far as known */
        operands[t].role = callee->op->tensors[t].role;
    }
    for (int first = 0; first < n - 1 && status == KILN_OK; first++) {
        uintptr_t base[KILN_MAX_TENSORS] = {0};
        bool shared = false;

        for (int t = first; t < n; t++) {
            if (callee->tensors[t].buffer == callee->tensors[first].buffer) {
                base[t] = KILN_WORKSPACE_ALIGN;
                shared = shared || t > first;
            }
        }
        if (shared) {
            status = kiln_program_check_overlap(callee->op, operands, n, base,
                                                build->err);
        }
    }
    return status;
}

/* A step may not write what the caller only lends for reading. */
static kiln_status check_step_writes(kiln_build *build, const kiln_call *call,
                                     const kiln_call *callee)
{
    const kiln_program *program = build->program;

    for (int t = 0; t < callee->op->n_tensors; t++) {
        int32_t buffer = callee->tensors[t].buffer;

        if (callee->op->tensors[t].role != KILN_IN &&
            callee->tensors[t].dtype != KILN_NONE &&
            buffer < program->n_operands &&
            program->operands[buffer].role == KILN_IN) {
            return kiln_fail(build->err, KILN_INTERNAL,
                             "op %s: step %s: %s: would write the input %s",
                             call->op->name, callee->op->name,
                             callee->op->tensors[t].name,
                             program->buffers[buffer].name);
        }
    }
    return KILN_OK;
}

static kiln_status call_step(kiln_build *build, const kiln_call *call,
                             const kiln_step *step, kiln_call *callee)
{
    kiln_status status;

    if ((status = bind_step_tensors(build, call, step, callee)) != KILN_OK ||
        (status = bind_step_attrs(build, call, step, callee)) != KILN_OK ||
        (status = check_step_writes(build, call, callee)) != KILN_OK ||
        (status = check_step_overlap(build, callee)) != KILN_OK) {
        return status;
    }
    build->depth++;
    status = kiln_build_call(build, callee);
    build->depth--;
    return status;
}

static kiln_status run_step(kiln_build *build, const kiln_call *call,
                            const kiln_step *step)
{
    kiln_call callee;
    kiln_status status;

    callee.op = kiln_find_op(build->request->tables, step->op, &callee.index);
    if (callee.op == NULL) {
        return kiln_fail(build->err, KILN_INTERNAL,
                         "op %s: step: no op \"%.40s\"", call->op->name,
                         step->op);
    }
    status = call_step(build, call, step, &callee);
    if (status != KILN_OK && build->depth == 0) {
        kiln_fail_more(build->err, "\n(in a step of op %s)", call->op->name);
    }
    return status;
}

static kiln_status run_steps(kiln_build *build, const kiln_call *call,
                             const kiln_step *steps, int n);

static kiln_status loop_bound(kiln_build *build, const kiln_call *call,
                              const kiln_expr *expr, int64_t *value)
{
    kiln_scope scope = kiln_build_scope(build, call);
    char why[160];

    if (!kiln_expr_int(expr, &scope, value, why, sizeof why)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: loop: %s: %s", call->op->name, expr->text,
                         why);
    }
    return KILN_OK;
}

/* Of range(start, stop, by). The difference of two int64 fits uint64. */
static uint64_t count_rounds(int64_t start, int64_t stop, int64_t by)
{
    uint64_t span = (uint64_t)stop - (uint64_t)start;

    return stop > start ? (span - 1) / (uint64_t)by + 1 : 0;
}

static kiln_status run_loop(kiln_build *build, const kiln_call *call,
                            const kiln_step *step)
{
    kiln_value outer = build->loops[step->loop];
    int64_t start, stop, by;
    uint64_t rounds;
    kiln_status status;

    if ((status = loop_bound(build, call, &step->start, &start)) != KILN_OK ||
        (status = loop_bound(build, call, &step->stop, &stop)) != KILN_OK ||
        (status = loop_bound(build, call, &step->step, &by)) != KILN_OK) {
        return status;
    }
    if (by <= 0) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: loop: step %s is %lld, not positive",
                         call->op->name, step->step.text, (long long)by);
    }
    rounds = count_rounds(start, stop, by);
    if (rounds > (uint64_t)(KILN_MAX_ROUNDS - build->rounds)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: loop: the plan's loops take more than %d "
                         "rounds",
                         call->op->name, KILN_MAX_ROUNDS);
    }
    build->rounds += (int32_t)rounds;
    for (uint64_t i = 0; i < rounds && status == KILN_OK; i++) {
        uint64_t v = (uint64_t)start + i * (uint64_t)by; /* below stop */

        build->loops[step->loop] = (kiln_value){KILN_V_INT, (int64_t)v, 0};
        status = run_steps(build, call, step->body, step->n_body);
    }
    build->loops[step->loop] = outer;
    return status;
}

static kiln_status run_steps(kiln_build *build, const kiln_call *call,
                             const kiln_step *steps, int n)
{
    for (int i = 0; i < n; i++) {
        bool holds;
        kiln_status status =
            kiln_build_holds(build, call, &steps[i].when, &holds);

        if (status == KILN_OK && holds) {
            status = steps[i].op[0] == '\0' ? run_loop(build, call, &steps[i])
                                            : run_step(build, call, &steps[i]);
        }
        if (status != KILN_OK) {
            return status;
        }
    }
    return KILN_OK;
}

kiln_status kiln_build_steps(kiln_build *build, kiln_call *call,
                             const kiln_route *route)
{
    kiln_status status = add_temporaries(build, call, route);

    if (status != KILN_OK) {
        return status;
    }
    return run_steps(build, call, route->steps, route->n_steps);
}
