#include "build.h"

#include <string.h>

kiln_status kiln_build_no_memory(kiln_build *build, size_t bytes)
{
    return kiln_fail(build->err, KILN_OUT_OF_MEMORY,
                     "op %s: plan: allocation of %zu bytes was refused",
                     build->program->op->name, bytes);
}

kiln_status kiln_build_bad_expr(kiln_build *build, const kiln_call *call,
                                const kiln_expr *expr, const char *why)
{
    return kiln_fail(build->err, KILN_INVALID_ARGUMENT, "op %s: %s: %s",
                     call->op->name, expr->text, why);
}

/* Room for one more of n elements at array; the old copy stays behind in the
 * arena. */
static bool grow(kiln_build *build, void **array, int32_t n, int32_t *room,
                 size_t size, int32_t limit, const char *what)
{
    int32_t wanted = *room == 0 ? 4 : *room * 4;
    void *bigger;

    if (n >= limit) {
        kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                  "op %s: the plan needs more than %d %s",
                  build->program->op->name, (int)limit, what);
        return false;
    }
    if (n < *room) {
        return true;
    }
    bigger = kiln_arena_alloc(&build->program->arena, (size_t)wanted * size);
    if (bigger == NULL) {
        kiln_build_no_memory(build, (size_t)wanted * size);
        return false;
    }
    if (n > 0) {
        memcpy(bigger, *array, (size_t)n * size);
    }
    *array = bigger;
    *room = wanted;
    return true;
}

kiln_node *kiln_build_node(kiln_build *build)
{
    kiln_program *p = build->program;
    void *array = p->nodes;
    kiln_node *node;

    if (!grow(build, &array, p->n_nodes, &build->node_room, sizeof *p->nodes,
              KILN_MAX_NODES, "launches")) {
        return NULL;
    }
    p->nodes = array;
    node = &p->nodes[p->n_nodes++];
    memset(node, 0, sizeof *node);
    node->memset_buffer = -1;
    return node;
}

kiln_decision *kiln_build_decision(kiln_build *build)
{
    kiln_program *p = build->program;
    void *array = p->decisions;

    if (!grow(build, &array, p->n_decisions, &build->decision_room,
              sizeof *p->decisions, 2 * KILN_MAX_NODES, "decisions")) {
        return NULL;
    }
    p->decisions = array;
    memset(&p->decisions[p->n_decisions], 0, sizeof *p->decisions);
    return &p->decisions[p->n_decisions++];
}

kiln_buffer *kiln_build_buffer(kiln_build *build)
{
    kiln_program *p = build->program;
    void *array = p->buffers;
    kiln_buffer *buffer;

    if (!grow(build, &array, p->n_buffers, &build->buffer_room,
              sizeof *p->buffers, KILN_MAX_BUFFERS, "buffers")) {
        return NULL;
    }
    p->buffers = array;
    buffer = &p->buffers[p->n_buffers++];
    memset(buffer, 0, sizeof *buffer);
    buffer->offset = -1;
    buffer->first = -1;
    buffer->last = -1;
    return buffer;
}

bool kiln_build_count(kiln_build *build, int64_t *total, int64_t more)
{
    if (__builtin_add_overflow(*total, more, total)) {
        kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                  "op %s: the plan's bytes or operations overflow int64",
                  build->program->op->name);
        return false;
    }
    return true;
}

kiln_scope kiln_build_scope(const kiln_build *build, const kiln_call *call)
{
    const kiln_arch *arch = build->request->arch;

    return (kiln_scope){
        .tables = build->request->tables,
        .arch = arch->fields,
        .n_arch = arch->n_fields,
        .lets = call->lets,
        .n_lets = call->op->n_lets,
        .attrs = call->attrs,
        .n_attrs = call->op->n_attrs,
        .loops = build->loops,
        .n_loops = KILN_MAX_LOOPS,
        .tensors = call->tensors,
        .n_tensors = call->n_tensors,
    };
}
