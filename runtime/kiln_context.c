#define _GNU_SOURCE
#include "internal.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

kiln_error *kiln_thread_error(void)
{
    static _Thread_local kiln_error error;

    return &error;
}

const char *kiln_last_error(void)
{
    return kiln_thread_error()->text;
}

const char *kiln_version(void)
{
    return KILN_VERSION;
}

const char *kiln_status_name(kiln_status status)
{
    switch (status) {
    case KILN_OK:
        return "KILN_OK";
    case KILN_INVALID_ARGUMENT:
        return "KILN_INVALID_ARGUMENT";
    case KILN_UNCERTIFIED:
        return "KILN_UNCERTIFIED";
    case KILN_STALE:
        return "KILN_STALE";
    case KILN_OUT_OF_MEMORY:
        return "KILN_OUT_OF_MEMORY";
    case KILN_WORKSPACE_LIMIT:
        return "KILN_WORKSPACE_LIMIT";
    case KILN_NOT_PREPARED:
        return "KILN_NOT_PREPARED";
    case KILN_DEVICE_ERROR:
        return "KILN_DEVICE_ERROR";
    case KILN_FORKED:
        return "KILN_FORKED";
    case KILN_INTERNAL:
        return "KILN_INTERNAL";
    }
    return "?";
}

/* --- forks ---------------------------------------------------------------- */

/* The system clears this page in a forked child (madvise(2),
 * MADV_WIPEONFORK), so that a load tells one. Asking getpid in every call
 * instead would take up to 200 ns. */
static volatile int *map_alive(size_t *bytes)
{
    int *page;

    *bytes = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, *bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, *bytes, MADV_WIPEONFORK) != 0) {
        munmap(page, *bytes);
        return NULL;
    }
    *page = 1;
    return page;
}

static bool is_forked(const kiln_context *ctx)
{
    return ctx->alive != NULL ? *ctx->alive == 0 : getpid() != ctx->pid;
}

kiln_status kiln_context_check_process(const kiln_context *ctx,
                                       const char *function)
{
    if (!is_forked(ctx)) {
        return KILN_OK;
    }
    return kiln_fail(kiln_thread_error(), KILN_FORKED,
                     "%s: the process was forked after the context was "
                     "created; create contexts in the child",
                     function);
}

/* --- making one ----------------------------------------------------------- */

static int32_t count_routes(const kiln_tables *tables)
{
    int32_t n = 0;

    for (int32_t i = 0; i < tables->n_ops; i++) {
        n += tables->ops[i]->n_routes;
    }
    return n;
}

static bool copy_text(kiln_arena *arena, const char *text, const char **copy)
{
    if (text == NULL) {
        *copy = NULL;
        return true;
    }
    *copy = kiln_arena_copy(arena, text, strlen(text) + 1);
    return *copy != NULL;
}

static bool make_heard(kiln_context *ctx)
{
    int32_t n = count_routes(ctx->tables);

    ctx->heard = kiln_arena_alloc(&ctx->arena, (size_t)n * sizeof *ctx->heard);
    for (int32_t i = 0; ctx->heard != NULL && i < n; i++) {
        atomic_init(&ctx->heard[i], false);
    }
    return ctx->heard != NULL;
}

static bool make_pool(kiln_context *ctx, const kiln_options *options)
{
    int cores = kiln_cpu_count();
    int threads = options->threads == 0 ? cores : options->threads;

    if (threads > KILN_MAX_THREADS) {
        threads = KILN_MAX_THREADS;
    }
    return kiln_pool_init(&ctx->pool, threads, threads <= cores);
}

/* Fills all but what the choice gave. false: no memory. */
static bool take_options(kiln_context *ctx, const kiln_options *options)
{
    size_t page;

    ctx->workspace_limit = options->workspace_limit;
    ctx->accept_forced = options->accept_forced != 0;
    ctx->log = options->log;
    ctx->log_user = options->log_user;
    ctx->heard = NULL;
    if (!copy_text(&ctx->arena, options->config, &ctx->config) ||
        !copy_text(&ctx->arena, options->route, &ctx->route) ||
        (ctx->log != NULL && !make_heard(ctx)) ||
        (ctx->cuda == NULL && !make_pool(ctx, options))) {
        return false;
    }
    ctx->pid = getpid();
    ctx->alive = map_alive(&page);
    return true;
}

static kiln_context *make_context(const kiln_tables *tables, DLDevice device,
                                  const kiln_choice *choice,
                                  const kiln_options *options)
{
    kiln_arena arena;
    kiln_context *ctx;

    kiln_arena_init(&arena, options->allocator);
    ctx = kiln_arena_alloc(&arena, sizeof *ctx);
    if (ctx != NULL) {
        ctx->arena = arena;
        ctx->tables = tables;
        ctx->tier = choice->tier;
        ctx->arch = choice->arch;
        ctx->forced = choice->forced;
        ctx->cuda = choice->cuda;
        ctx->device = device;
        if (take_options(ctx, options)) {
            return ctx;
        }
        arena = ctx->arena;
    }
    kiln_arena_free(&arena);
    return NULL;
}

kiln_status kiln_context_create_on(kiln_context **ctx, DLDevice device,
                                   const kiln_options *opt,
                                   const kiln_tables *tables,
                                   const kiln_cuda_driver *driver)
{
    kiln_error *err = kiln_thread_error();
    kiln_options options;
    kiln_choice choice;
    kiln_status status;

    if (ctx == NULL) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "kiln_context_create: ctx is NULL");
    }
    *ctx = NULL;
    if (tables->layout != KILN_TABLE_LAYOUT) {
        return kiln_fail(err, KILN_INTERNAL,
                         "the tables in out/ have layout %d, this runtime "
                         "reads %d; regenerate them: make gen",
                         (int)tables->layout, KILN_TABLE_LAYOUT);
    }
    if ((status = kiln_read_options(opt, &options, err)) != KILN_OK ||
        (status = kiln_choose_device(tables, device, &options, driver, &choice,
                                     err)) != KILN_OK) {
        return status;
    }
    *ctx = make_context(tables, device, &choice, &options);
    if (*ctx == NULL) {
        kiln_cuda_close(choice.cuda, false);
        return kiln_fail(err, KILN_OUT_OF_MEMORY,
                         "kiln_context_create: memory refused; a context "
                         "takes %zu bytes, its options' texts and a lock",
                         sizeof **ctx);
    }
    return KILN_OK;
}

kiln_status kiln_context_create(kiln_context **ctx, DLDevice device,
                                const kiln_options *opt)
{
    return kiln_context_create_on(ctx, device, opt, &kiln_generated_tables,
                                  NULL);
}

/* A forked child has none of the threads and may find their locks held, and
 * CUDA does not work there: the memory goes and nothing else. */
void kiln_context_destroy(kiln_context *ctx)
{
    if (ctx == NULL) {
        return;
    }
    kiln_cuda_close(ctx->cuda, is_forked(ctx));
    if (ctx->cuda == NULL && !is_forked(ctx)) {
        kiln_pool_destroy(&ctx->pool);
    }
    if (ctx->alive != NULL) {
        munmap((void *)(uintptr_t)ctx->alive, (size_t)sysconf(_SC_PAGESIZE));
    }
    kiln_arena_free(&ctx->arena);
}

/* KILN_FAULT_SHIFT in tables.h says what a word holds. */
static kiln_status read_fault(kiln_context *ctx, kiln_fault *fault)
{
    kiln_error *err = kiln_thread_error();
    uint64_t word;
    uint64_t op;

    if (kiln_cuda_read_fault(ctx->cuda, &word, err) != KILN_OK) {
        return err->status;
    }
    if (word == KILN_FAULT_NONE) {
        return KILN_OK;
    }
    op = word >> KILN_FAULT_SHIFT;
    if (op >= (uint64_t)ctx->tables->n_ops) {
        return kiln_fail(err, KILN_INTERNAL,
                         "kiln_fault_check: the fault word %016llx names no op",
                         (unsigned long long)word);
    }
    fault->op = ctx->tables->ops[op]->name;
    fault->position = (int64_t)(word & (((uint64_t)1 << KILN_FAULT_SHIFT) - 1));
    return KILN_OK;
}

kiln_status kiln_fault_check(kiln_context *ctx, kiln_fault *fault)
{
    kiln_status status;

    if (ctx == NULL || fault == NULL) {
        return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT,
                         "kiln_fault_check: %s is NULL",
                         ctx == NULL ? "ctx" : "fault");
    }
    *fault = (kiln_fault){NULL, 0};
    status = kiln_context_check_process(ctx, "kiln_fault_check");
    return status == KILN_OK && ctx->cuda != NULL ? read_fault(ctx, fault)
                                                  : status;
}
