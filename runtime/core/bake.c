/* bake.c: what a launch is given: its sizes and its packed arguments. */
#include <string.h>

#include "build.h"

/* 64-bit arguments of a recipe, and how many are tensors' pointers. */
static int slot_count(const kiln_recipe *recipe, int *pointers)
{
    int n = 0;

    *pointers = 0;
    for (int i = 0; i < recipe->n_slots; i++) {
        int kind = recipe->slots[i].kind;
        bool wide = kind == KILN_SLOT_SIZE || kind == KILN_SLOT_STRIDE;

        n += wide ? KILN_MAX_RANK : kind == KILN_SLOT_FAULT ? 2 : 1;
        *pointers += kind == KILN_SLOT_DATA;
    }
    return n;
}

static void put_dims(uint64_t *args, const int64_t *values, int n, int64_t pad)
{
    int d = 0;

    for (; d < n; d++) {
        args[d] = (uint64_t)values[d];
    }
    for (; d < KILN_MAX_RANK; d++) {
        args[d] = (uint64_t)pad;
    }
}

/* The value of slot's expression; returns 1, 0 on failure. */
static int put_expr(kiln_build *build, const kiln_call *call,
                    const kiln_slot *slot, const kiln_scope *scope,
                    uint64_t *args)
{
    char why[160];
    double f;

    if (slot->kind == KILN_SLOT_INT) {
        if (kiln_expr_int(&slot->expr, scope, (int64_t *)args, why,
                          sizeof why)) {
            return 1;
        }
    } else if (kiln_expr_float(&slot->expr, scope, &f, why, sizeof why)) {
        memcpy(args, &f, sizeof f);
        return 1;
    }
    kiln_build_bad_expr(build, call, &slot->expr, why);
    return 0;
}

/* Fills slot's arguments from number `at` on; returns how many it took, 0 on
 * failure. */
static int put_slot(kiln_build *build, const kiln_call *call, kiln_node *node,
                    const kiln_slot *slot, const kiln_space *space,
                    const kiln_scope *scope, int at)
{
    uint64_t *args = node->args + at;

    switch (slot->kind) {
    case KILN_SLOT_DATA:
        *args = 0;
        if (call->tensors[slot->tensor].dtype != KILN_NONE) {
            node->patches[node->n_patches++] =
                (kiln_patch){at, call->tensors[slot->tensor].buffer,
                             call->tensors[slot->tensor].offset};
        }
        return 1;
    case KILN_SLOT_RANK:
        *args = (uint64_t)space->rank;
        return 1;
    case KILN_SLOT_SIZE:
        put_dims(args, space->size, space->rank, 1);
        return KILN_MAX_RANK;
    case KILN_SLOT_STRIDE:
        put_dims(args, space->stride[slot->tensor], space->rank, 0);
        return KILN_MAX_RANK;
    case KILN_SLOT_ROW_SIZE:
        *args = (uint64_t)space->row_size;
        return 1;
    case KILN_SLOT_ROW_STRIDE:
        *args = (uint64_t)space->row_stride[slot->tensor];
        return 1;
    case KILN_SLOT_FAULT:
        args[0] = build->request->fault;
        args[1] = (uint64_t)call->index << KILN_FAULT_SHIFT;
        return 2;
    default:
        return put_expr(build, call, slot, scope, args);
    }
}

static kiln_status put_args(kiln_build *build, const kiln_call *call,
                            kiln_node *node, const kiln_space *space,
                            const kiln_scope *scope)
{
    const kiln_recipe *recipe = node->kernel->recipe;
    int pointers;
    int n = slot_count(recipe, &pointers);
    kiln_arena *arena = &build->program->arena;
    size_t bytes = (size_t)n * sizeof *node->args +
                   (size_t)pointers * sizeof *node->patches;
    int at = 0;

    if (n > KILN_MAX_SLOTS) {
        return kiln_fail(build->err, KILN_INTERNAL,
                         "kernel %s takes more than %d slots",
                         node->kernel->symbol, KILN_MAX_SLOTS);
    }
    node->args = kiln_arena_alloc(arena, bytes);
    if (node->args == NULL) {
        return kiln_build_no_memory(build, bytes);
    }
    node->patches = (kiln_patch *)(void *)(node->args + n);
    node->n_args = n;
    for (int i = 0; i < recipe->n_slots; i++) {
        int taken =
            put_slot(build, call, node, &recipe->slots[i], space, scope, at);

        if (taken == 0) {
            return build->err->status;
        }
        at += taken;
    }
    return KILN_OK;
}

/* --- sizes ---------------------------------------------------------------- */

static kiln_status eval(kiln_build *build, const kiln_call *call,
                        const kiln_expr *expr, const kiln_scope *scope,
                        int64_t *value)
{
    char why[160];

    if (!kiln_expr_int(expr, scope, value, why, sizeof why)) {
        return kiln_build_bad_expr(build, call, expr, why);
    }
    return KILN_OK;
}

/* *value keeps what it holds where expr is absent. */
static kiln_status eval_given(kiln_build *build, const kiln_call *call,
                              const kiln_expr *expr, const kiln_scope *scope,
                              int64_t *value)
{
    return expr->n_code > 0 ? eval(build, call, expr, scope, value) : KILN_OK;
}

static kiln_status fail_size(kiln_build *build, const kiln_node *node,
                             const char *what, const kiln_expr *expr,
                             int64_t value)
{
    return kiln_fail(build->err, KILN_INTERNAL,
                     "kernel %s: %s: %s is %lld, out of range",
                     node->kernel->symbol, what, expr->text, (long long)value);
}

/* A CUDA launch holds them in 32 bits, and fewer blocks and threads than that
 * (CUDA C++ Programming Guide, "Technical Specifications per Compute
 * Capability"). */
static kiln_status check_grid(kiln_build *build, const kiln_call *call,
                              const kiln_node *node, int64_t threads,
                              int64_t shared, int64_t cluster)
{
    const kiln_recipe *recipe = node->kernel->recipe;

    if (node->units > KILN_MAX_BLOCKS) {
        return kiln_fail(build->err, KILN_INVALID_ARGUMENT,
                         "op %s: kernel %s would take %lld blocks (%s), a "
                         "CUDA grid holds at most %d",
                         call->op->name, node->kernel->symbol,
                         (long long)node->units, recipe->units.text,
                         KILN_MAX_BLOCKS);
    }
    if (threads < 1 || threads > KILN_MAX_BLOCK_THREADS) {
        return fail_size(build, node, "threads", &recipe->threads, threads);
    }
    if (shared < 0 || shared > INT32_MAX) {
        return fail_size(build, node, "shared", &recipe->shared, shared);
    }
    if (cluster < 1 || cluster > KILN_MAX_BLOCKS) {
        return fail_size(build, node, "cluster", &recipe->cluster, cluster);
    }
    if (node->units < 0 || node->units % cluster != 0) {
        return fail_size(build, node, "blocks in whole clusters",
                         &recipe->units, node->units);
    }
    return KILN_OK;
}

/* A recipe without threads is the cpu's. */
static kiln_status bake_grid(kiln_build *build, const kiln_call *call,
                             kiln_node *node, const kiln_scope *scope)
{
    const kiln_recipe *recipe = node->kernel->recipe;
    int64_t threads = 0;
    int64_t shared = 0;
    int64_t cluster = 1;
    kiln_status status;

    node->cluster = 1;
    if (recipe->threads.n_code == 0) {
        return KILN_OK;
    }
    if ((status = eval_given(build, call, &recipe->threads, scope, &threads)) !=
            KILN_OK ||
        (status = eval_given(build, call, &recipe->shared, scope, &shared)) !=
            KILN_OK ||
        (status = eval_given(build, call, &recipe->cluster, scope, &cluster)) !=
            KILN_OK ||
        (status = check_grid(build, call, node, threads, shared, cluster)) !=
            KILN_OK) {
        return status;
    }
    node->threads = (int32_t)threads;
    node->shared = (int32_t)shared;
    node->cluster = (int32_t)cluster;
    return KILN_OK;
}

kiln_status kiln_bake(kiln_build *build, kiln_call *call, kiln_node *node,
                      const kiln_space *space)
{
    const kiln_recipe *recipe = node->kernel->recipe;
    int n = call->op->n_lets;
    kiln_scope scope = kiln_build_scope(build, call);
    kiln_status status;

    call->lets[n] = (kiln_value){KILN_V_INT, space->rows, 0};
    call->lets[n + 1] = (kiln_value){KILN_V_INT, space->row_size, 0};
    scope.n_lets = n + 2;
    scope.config = node->kernel->values;
    scope.n_config = node->kernel->n_values;
    if ((status = eval(build, call, &recipe->units, &scope, &node->units)) !=
            KILN_OK ||
        (status = eval_given(build, call, &recipe->grain, &scope,
                             &node->grain)) != KILN_OK ||
        (status = bake_grid(build, call, node, &scope)) != KILN_OK) {
        return status;
    }
    node->grain = node->grain > 0 ? node->grain : 1;
    return put_args(build, call, node, space, &scope);
}
