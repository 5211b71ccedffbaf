/* launch.c: one launch: its key and its kernel. */
#include <string.h>

#include "build.h"

static kiln_status find_row_dim(kiln_build *build, const kiln_call *call,
                                int *row_dim)
{
    const kiln_op *op = call->op;
    kiln_scope scope;
    int64_t dim;
    char why[160];

    *row_dim = -1;
    if (op->space != KILN_SPACE_ROWS) {
        return KILN_OK;
    }
    scope = kiln_build_scope(build, call);
    if (!kiln_expr_int(&op->row_dim, &scope, &dim, why, sizeof why)) {
        return kiln_build_bad_expr(build, call, &op->row_dim, why);
    }
    if (dim < -call->tensors[0].ndim || dim >= call->tensors[0].ndim) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: %s = %lld is out of range for rank %d",
                         op->name, op->row_dim.text, (long long)dim,
                         call->tensors[0].ndim);
    }
    *row_dim = (int)(dim < 0 ? dim + call->tensors[0].ndim : dim);
    return KILN_OK;
}

/* Addresses for the alignment class: a temporary's base is aligned. */
static void find_bases(const kiln_build *build, const kiln_call *call,
                       uintptr_t *base)
{
    for (int t = 0; t < call->op->n_tensors; t++) {
        int32_t buffer = call->tensors[t].buffer;

        base[t] = buffer < build->program->n_operands
                      ? build->program->operands[buffer].base
                      : 0;
    }
}

/* Pointers that come later must be as aligned as the key says. */
static void hold_alignment(kiln_build *build, const kiln_call *call,
                           const kiln_space *space)
{
    if ((build->request->arch->classes & KILN_CLASS_ALIGN) == 0) {
        return;
    }
    for (int t = 0; t < call->op->n_tensors; t++) {
        int32_t buffer = call->tensors[t].buffer;

        if (call->tensors[t].dtype != KILN_NONE &&
            buffer < build->program->n_operands &&
            build->program->operands[buffer].align_log2 < space->align_log2) {
            build->program->operands[buffer].align_log2 = space->align_log2;
        }
    }
}

static kiln_status make_key(kiln_build *build, const kiln_call *call, int route,
                            const kiln_space *space, kiln_key *key)
{
    const kiln_op *op = call->op;
    kiln_scope scope = kiln_build_scope(build, call);
    char why[160];

    key->op = op;
    key->route = route;
    key->layout = space->layout;
    key->align_log2 = space->align_log2;
    key->wide = space->wide;
    key->classes = build->request->arch->classes;
    for (int t = 0; t < op->n_tensors; t++) {
        key->dtypes[t] = call->tensors[t].dtype;
    }
    for (int a = 0; a < op->n_attrs; a++) {
        key->baked[a] = op->attrs[a].baked ? call->attrs[a].i : 0;
    }
    for (int i = 0; i < op->n_axes; i++) {
        if (!kiln_expr_int(&op->axes[i].expr, &scope, &key->size[i], why,
                           sizeof why)) {
            return kiln_build_bad_expr(build, call, &op->axes[i].expr, why);
        }
    }
    if (!kiln_group_pack(key, &key->group)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: the call has no key: a baked int is outside "
                         "-128 to 127, or the op has more choices, routes or "
                         "keyed tensors than keys hold",
                         op->name);
    }
    return KILN_OK;
}

static kiln_status check_state(kiln_build *build, const kiln_node *node)
{
    const char *op = node->key->op->name;
    int state = node->run->state;
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    if (state == 0) {
        return KILN_OK;
    }
    kiln_cell_unpack(node->cell, node->key->op->n_axes, positions);
    kiln_key_text(build->request->tables, node->key, positions, text,
                  sizeof text);
    if (state & KILN_CELL_STALE) {
        return kiln_fail(build->err, KILN_STALE,
                         "op %s: the certificate of key\n  %s\nno longer "
                         "fits its source (see STALE.tsv); to renew: make "
                         "certify TIER=%s OPS=%s ONLY=stale",
                         op, text, build->request->tier->tier, op);
    }
    if ((state & KILN_CELL_FORCED) && !build->request->accept_forced) {
        return kiln_fail(build->err, KILN_UNCERTIFIED,
                         "op %s: key\n  %s\nhas only forced evidence; options "
                         "accept_forced serves it",
                         op, text);
    }
    return KILN_OK;
}

static kiln_status choose_kernel(kiln_build *build, kiln_node *node, int index)
{
    const kiln_request *request = build->request;
    kiln_found found;
    const kiln_op_keys *keys =
        index < request->tier->n_ops ? request->tier->ops[index] : NULL;

    if (!kiln_find_cell(request->tables, keys, node->key, &found)) {
        return kiln_refuse(request->tables, request->tier, keys, node->key,
                           build->err);
    }
    node->run = found.run;
    node->cell = found.cell;
    if (check_state(build, node) != KILN_OK) {
        return build->err->status;
    }
    node->kernel = &keys->kernels[found.run->kernel];
    if (request->config != NULL &&
        strcmp(node->kernel->config, request->config) != 0) {
        node->kernel = kiln_find_config(keys, found.group, request->config);
        node->run = NULL;
        if (node->kernel == NULL) {
            return kiln_fail(build->err, KILN_UNCERTIFIED,
                             "op %s: %s has no certified config \"%.80s\"",
                             node->key->op->name, found.group->text,
                             request->config);
        }
    }
    return KILN_OK;
}

/* Bytes that elements occupy: a broadcast dim counts once, and dims whose
 * strides fold onto each other what they span at most. The span fits int64:
 * it is part of an extent that was checked; the product need not. */
static int64_t touched_bytes(const kiln_view *view)
{
    int64_t count = 1;
    int64_t span = 1;

    for (int d = 0; d < view->ndim; d++) {
        int64_t size = view->stride[d] == 0 ? 1 : view->size[d];

        if (view->size[d] == 0) {
            return 0;
        }
        if (__builtin_mul_overflow(count, size, &count)) {
            count = INT64_MAX;
        }
        span += (size - 1) * view->stride[d];
    }
    return (count < span ? count : span) *
           kiln_dtype_size((kiln_dtype)view->dtype);
}

/* One tensor's traffic, and its buffer's lifetime. */
static bool add_traffic(kiln_build *build, const kiln_view *view, int role)
{
    kiln_program *program = build->program;
    kiln_buffer *buffer = &program->buffers[view->buffer];
    int64_t bytes = touched_bytes(view);

    if (buffer->first < 0) {
        buffer->first = program->n_nodes - 1;
    }
    buffer->last = program->n_nodes - 1;
    return (role == KILN_OUT ||
            kiln_build_count(build, &program->bytes_read, bytes)) &&
           (role == KILN_IN ||
            kiln_build_count(build, &program->bytes_written, bytes));
}

static kiln_status add_cost(kiln_build *build, const kiln_call *call)
{
    const kiln_op *op = call->op;
    kiln_scope scope = kiln_build_scope(build, call);
    int64_t flops = 0;
    char why[160];

    if (op->flops.n_code > 0 &&
        !kiln_expr_int(&op->flops, &scope, &flops, why, sizeof why)) {
        return kiln_build_bad_expr(build, call, &op->flops, why);
    }
    if (!kiln_build_count(build, &build->program->flops, flops)) {
        return build->err->status;
    }
    for (int t = 0; t < op->n_tensors; t++) {
        if (call->tensors[t].dtype != KILN_NONE &&
            !add_traffic(build, &call->tensors[t], op->tensors[t].role)) {
            return build->err->status;
        }
    }
    return KILN_OK;
}

/* The canonical space of a call. */
static kiln_status make_space(kiln_build *build, const kiln_call *call,
                              kiln_space *space)
{
    uintptr_t base[KILN_MAX_TENSORS];
    char why[200];
    int row_dim;
    kiln_status status = find_row_dim(build, call, &row_dim);

    if (status != KILN_OK) {
        return status;
    }
    if (!kiln_space_fits(call->op, call->tensors, row_dim, why, sizeof why)) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT, "op %s: %s",
                         call->op->name, why);
    }
    find_bases(build, call, base);
    kiln_space_make(space, call->op, call->tensors, base, row_dim);
    hold_alignment(build, call, space);
    return KILN_OK;
}

kiln_status kiln_launch(kiln_build *build, kiln_call *call, int route)
{
    kiln_key *key = kiln_arena_alloc(&build->program->arena, sizeof *key);
    kiln_node *node;
    kiln_space space;
    kiln_status status;

    if (key == NULL) {
        return kiln_build_no_memory(build, sizeof *key);
    }
    if ((node = kiln_build_node(build)) == NULL) {
        return build->err->status;
    }
    node->key = key;
    if ((status = make_space(build, call, &space)) != KILN_OK ||
        (status = make_key(build, call, route, &space, key)) != KILN_OK ||
        (status = add_cost(build, call)) != KILN_OK ||
        build->request->tier == NULL) {
        return status;
    }
    if ((status = choose_kernel(build, node, call->index)) != KILN_OK) {
        return status;
    }
    return kiln_bake(build, call, node, &space);
}
