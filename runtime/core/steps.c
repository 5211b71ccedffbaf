/* steps.c: a composite route: temporaries, steps and loops, down to calls. */
#include "build.h"

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
    buffer->zeroed = temporary->zeroed;
    buffer->offset = 0;
    view->buffer = build->program->n_buffers - 1;
    if (!kiln_view_pack(view) ||
        !kiln_view_extent(view, &low, &buffer->bytes)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: temporary %s: size overflows int64",
                         call->op->name, temporary->name);
    }
    call->n_tensors++;
    return KILN_OK;
}

static kiln_status clear_temporary(kiln_build *build, int32_t number)
{
    kiln_node *node = kiln_build_node(build);
    kiln_buffer *buffer = &build->program->buffers[number];

    if (node == NULL) {
        return build->err->status;
    }
    node->memset_buffer = number;
    buffer->first = build->program->n_nodes - 1;
    buffer->last = buffer->first;
    build->program->bytes_written += buffer->bytes;
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
    for (int t = 0; t < callee->n_tensors; t++) {
        callee->tensors[t].dtype = KILN_NONE;
        callee->tensors[t].ndim = 0;
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
    default:
        out.kind = KILN_ATTR_INT;
        out.value.i = value->i;
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

/* Inside a composite, operands of one buffer must keep the callee's rule. */
static kiln_status check_step_overlap(kiln_build *build,
                                      const kiln_call *callee)
{
    kiln_operand operands[KILN_MAX_TENSORS];
    uintptr_t base[KILN_MAX_TENSORS];
    int n = callee->op->n_tensors;

    for (int t = 0; t < n; t++) {
        operands[t].view = callee->tensors[t];
        operands[t].role = callee->op->tensors[t].role;
        /* Distinct buffers never meet: give each a span of its own. */
        base[t] = 0;
        for (int o = 0; o < t; o++) {
            if (callee->tensors[o].buffer == callee->tensors[t].buffer) {
                base[t] = base[o] = KILN_WORKSPACE_ALIGN;
            }
        }
    }
    return kiln_program_check_overlap(callee->op, operands, n, base,
                                      build->err);
}

static kiln_status run_step(kiln_build *build, const kiln_call *call,
                            const kiln_step *step)
{
    kiln_call callee;
    kiln_status status;
    int index;

    callee.op = kiln_find_op(build->request->tables, step->op, &index);
    if (callee.op == NULL) {
        return kiln_fail(build->err, KILN_INTERNAL,
                         "op %s: step: no op \"%.40s\"", call->op->name,
                         step->op);
    }
    if ((status = bind_step_tensors(build, call, step, &callee)) != KILN_OK ||
        (status = bind_step_attrs(build, call, step, &callee)) != KILN_OK ||
        (status = check_step_overlap(build, &callee)) != KILN_OK) {
        return status;
    }
    build->depth++;
    status = kiln_build_call(build, &callee);
    build->depth--;
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

static kiln_status run_loop(kiln_build *build, const kiln_call *call,
                            const kiln_step *step)
{
    kiln_value outer = build->loops[step->loop];
    int64_t start, stop, by;
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
    if (stop > start && (stop - start) / by > KILN_MAX_NODES) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: loop: more than %d rounds", call->op->name,
                         KILN_MAX_NODES);
    }
    for (int64_t v = start; v < stop && status == KILN_OK; v += by) {
        build->loops[step->loop] = (kiln_value){KILN_V_INT, v, 0};
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
