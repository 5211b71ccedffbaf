/* sources: runtime/core/ tests/unit/fixture_tables.c tests/unit/cuda_tables.c
   tests/unit/fake_cuda.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c */
/* Plans on CUDA devices, on a driver that only counts: prepare, enqueue,
 * captures, threads, every call of the driver failing once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_tables.h"
#include "fake_cuda.h"
#include "internal.h"

#define N 1600 /* whole clusters */
#define N_THREADS 8

static const DLDevice gpu = {kDLCUDA, 0};
static char stream_object;
static void *const stream = &stream_object;

static atomic_int allocations;

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    atomic_fetch_add(&allocations, 1);
    return malloc(bytes);
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static const kiln_allocator allocator = {allocate, release, NULL};

static kiln_status open_with(kiln_context **ctx, const char *config)
{
    const kiln_options options = {.size = sizeof options,
                                  .config = config,
                                  .accept_forced = 1,
                                  .allocator = &allocator};

    return kiln_context_create_on(ctx, gpu, &options, cuda_tables(),
                                  &fake_driver);
}

static kiln_context *open_context(const char *config)
{
    kiln_context *ctx = NULL;

    assert_int_equal(open_with(&ctx, config), KILN_OK);
    return ctx;
}

static kiln_status plan_op(kiln_plan **plan, kiln_context *ctx, const char *op,
                           void *x, void *y, int64_t n)
{
    DLTensor tx = cuda_vector(x, KILN_F32, &n);
    DLTensor ty = cuda_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty, NULL};

    return kiln_plan_create(plan, ctx, op, tensors,
                            strcmp(op, "scale") == 0 ? 3 : 2, NULL, 0);
}

static kiln_plan *make_plan(kiln_context *ctx, const char *op, void *x, void *y)
{
    kiln_plan *plan = NULL;

    assert_int_equal(plan_op(&plan, ctx, op, x, y, N), KILN_OK);
    return plan;
}

static void assert_text(const char *part)
{
    if (strstr(kiln_last_error(), part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, kiln_last_error());
    }
}

static void assert_clean(void)
{
    assert_int_equal(fake.retained, 0);
    assert_int_equal(fake.alive, 0);
    assert_int_equal(fake.left, 0);
    assert_int_equal(fake.astray, 0);
    assert_int_equal(fake.mode_global, 0);
    assert_int_equal(fake_depth(), 0);
    assert_int_equal(fake_mode(), KILN_CU_MODE_GLOBAL);
}

static void close_all(kiln_plan *plan, kiln_context *ctx)
{
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
    assert_clean();
}

static int reset(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

/* A device's address that no one follows. */
static void *address(uintptr_t at)
{
    return (void *)at;
}

/* --- launches ------------------------------------------------------------- */

/* Slots as fixture_tables.c orders them: rank, 8 sizes, row size, alpha, then
 * of each tensor its data, 8 strides and its row stride. */
static void test_launch(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan =
        make_plan(ctx, "scale", address(0x10000), address(0x20000));
    const fake_launch *launch = &fake.launches[0];
    double alpha;

    (void)state;
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, stream),
                     KILN_NOT_PREPARED);
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_OK);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, stream), KILN_OK);
    assert_int_equal(fake.n_launches, 1);
    assert_string_equal(launch->function, "scale_map_f32_b1");
    assert_int_equal(launch->config.grid_x, N);
    assert_int_equal(launch->config.grid_y, 1);
    assert_int_equal(launch->config.grid_z, 1);
    assert_int_equal(launch->config.block_x, CUDA_THREADS);
    assert_int_equal(launch->config.block_y, 1);
    assert_int_equal(launch->config.block_z, 1);
    assert_int_equal(launch->config.shared_bytes, 0);
    assert_ptr_equal(launch->config.stream, stream);
    assert_int_equal(launch->config.n_attributes, 0);
    assert_int_equal(launch->bytes, (11 + 3 * 10) * 8);
    assert_int_equal(launch->args[9], N);
    memcpy(&alpha, &launch->args[10], sizeof alpha);
    assert_true(alpha == 2.0);
    assert_int_equal(launch->args[11], 0x10000);
    assert_int_equal(launch->args[21], 0x20000);
    assert_int_equal(launch->args[31], 0);
    close_all(plan, ctx);
}

static void test_cluster_and_fault(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan =
        make_plan(ctx, "axpy", address(0x10000), address(0x20000));
    const fake_launch *launch = &fake.launches[0];

    (void)state;
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(fake.shared_limit, CUDA_SHARED);
    assert_int_equal(fake.wide, 1);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL), KILN_OK);
    assert_int_equal(launch->cluster, CUDA_CLUSTER);
    assert_int_equal(launch->config.shared_bytes, CUDA_SHARED);
    assert_null(launch->config.stream);
    assert_int_equal(launch->bytes, (11 + 2 * 10 + 2) * 8);
    assert_int_equal(launch->args[31], kiln_cuda_fault_address(ctx->cuda));
    assert_int_equal(launch->args[32], (uint64_t)CUDA_AXPY << 48);
    close_all(plan, ctx);
}

/* A zeroed temporary is cleared by the driver, in order, on the stream. */
static void test_clears(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan =
        make_plan(ctx, "grow", address(0x10000), address(0x20000));
    const size_t bytes = kiln_plan_workspace(plan);
    char *workspace = aligned_alloc(256, (bytes + 255) / 256 * 256);

    (void)state;
    assert_true(bytes >= N * sizeof(float));
    memset(workspace, 0x55, bytes);
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_OK);
    fake.n_calls = 0;
    assert_int_equal(kiln_plan_enqueue(plan, NULL, workspace, stream), KILN_OK);
    assert_int_equal(fake.n_calls, 6); /* get, push, clear, two, pop */
    for (size_t i = 0; i < N * sizeof(float); i++) {
        assert_int_equal(workspace[i], 0);
    }
    assert_int_equal(fake.launches[0].args[21], (uintptr_t)workspace);
    assert_int_equal(fake.launches[1].args[11], (uintptr_t)workspace);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, workspace + 8, stream),
                     KILN_INVALID_ARGUMENT);
    assert_text("workspace is not aligned");
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, stream),
                     KILN_INVALID_ARGUMENT);
    free(workspace);
    close_all(plan, ctx);
}

static void test_pointers_rechecked(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan = make_plan(ctx, "scale", NULL, NULL);
    void *good[] = {address(0x30000), address(0x40000), NULL};
    void *odd[] = {address(0x30000), address(0x40002), NULL};
    void *less[] = {address(0x30000), address(0x40004), NULL};
    void *over[] = {address(0x30000), address(0x30010), NULL};
    void *none[] = {address(0x30000), NULL, NULL};

    (void)state;
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_OK);
    assert_int_equal(kiln_plan_enqueue(plan, good, NULL, stream), KILN_OK);
    assert_int_equal(fake.launches[0].args[11], 0x30000);
    assert_int_equal(fake.launches[0].args[21], 0x40000);
    assert_int_equal(kiln_plan_enqueue(plan, odd, NULL, stream),
                     KILN_INVALID_ARGUMENT);
    assert_text("tensor y: data is not aligned to its element size");
    assert_int_equal(kiln_plan_enqueue(plan, less, NULL, stream),
                     KILN_INVALID_ARGUMENT);
    assert_text("tensor y: data is less aligned than planned");
    assert_int_equal(kiln_plan_enqueue(plan, over, NULL, stream),
                     KILN_INVALID_ARGUMENT);
    assert_text("overlaps");
    assert_int_equal(kiln_plan_enqueue(plan, none, NULL, stream),
                     KILN_INVALID_ARGUMENT);
    assert_int_equal(fake.n_launches, 1);
    close_all(plan, ctx);
}

/* Two calls of the driver where its context is current, four where not; no
 * memory; no capture is asked for. */
static void test_enqueue_is_short(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan =
        make_plan(ctx, "scale", address(0x10000), address(0x20000));
    kiln_cu_context own;

    (void)state;
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_OK);
    assert_int_equal(fake_driver.primary_ctx_retain(&own, 7), KILN_CU_SUCCESS);
    fake.capture = KILN_CU_CAPTURE_ACTIVE;
    fake.n_calls = 0;
    allocations = 0;
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, stream), KILN_OK);
    assert_int_equal(fake.n_calls, 4);
    fake_push(own);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, stream), KILN_OK);
    assert_int_equal(fake.n_calls, 4 + 2);
    assert_int_equal(fake_depth(), 1);
    fake_pop();
    assert_int_equal(allocations, 0);
    assert_int_equal(fake_driver.primary_ctx_release(7), KILN_CU_SUCCESS);
    close_all(plan, ctx);
}

/* --- what planning refuses ------------------------------------------------ */

static void test_sizes_refused(void **state)
{
    kiln_context *ctx = open_context("block=2");
    kiln_plan *plan = NULL;
    int64_t n = 64;
    DLTensor x = cuda_vector(NULL, KILN_F64, &n);
    const DLTensor *tensors[] = {&x, &x, NULL};

    (void)state;
    assert_int_equal(plan_op(&plan, ctx, "scale", NULL, NULL, 4096),
                     KILN_INVALID_ARGUMENT);
    assert_text("kernel scale_map_f32_b2 would take 4096000000 blocks "
                "(rows * row * 1000000), a CUDA grid holds at most 2147483647");
    assert_int_equal(plan_op(&plan, ctx, "scale", NULL, NULL, 2147), KILN_OK);
    close_all(plan, ctx);
    ctx = open_context(NULL);
    assert_int_equal(kiln_plan_create(&plan, ctx, "scale", tensors, 3, NULL, 0),
                     KILN_INTERNAL);
    assert_text("threads: 2000 is 2000, out of range");
    assert_int_equal(plan_op(&plan, ctx, "axpy", NULL, NULL, N + 1),
                     KILN_INTERNAL);
    assert_text("blocks in whole clusters: rows * row is 1601");
    x.device.device_type = kDLCUDAManaged;
    assert_int_equal(kiln_plan_create(&plan, ctx, "scale", tensors, 3, NULL, 0),
                     KILN_INVALID_ARGUMENT);
    close_all(NULL, ctx);
}

/* --- prepare -------------------------------------------------------------- */

static void test_prepare_refused(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan = make_plan(ctx, "scale", NULL, NULL);

    (void)state;
    fake.missing = "scale_map_f32_b1";
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_DEVICE_ERROR);
    assert_text("kernel scale_map_f32_b1 of sm90/all: cuModuleGetFunction");
    fake.missing = NULL;
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL),
                     KILN_NOT_PREPARED);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(fake.calls[FAKE_MODULE_LOAD], 1);
    close_all(plan, ctx);
    fake.name = "NVIDIA A100-SXM4-40GB";
    fake.capability = 80;
    fake.shared_bytes = 166912;
    ctx = open_context(NULL);
    plan = make_plan(ctx, "scale", NULL, NULL);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_DEVICE_ERROR);
    assert_text("module sm80/all was not compiled into this library");
    close_all(plan, ctx);
}

/* One changed byte of a module is refused by name; nothing is loaded. */
static void test_damaged_module(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan = make_plan(ctx, "scale", NULL, NULL);
    const int loads = fake.calls[FAKE_MODULE_LOAD];

    (void)state;
    cuda_tables_damage(true);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_DEVICE_ERROR);
    assert_text("module sm90/all is damaged: its SHA-256 is");
    assert_int_equal(fake.calls[FAKE_MODULE_LOAD], loads);
    cuda_tables_damage(false);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(fake.calls[FAKE_MODULE_LOAD], loads + 1);
    close_all(plan, ctx);
}

static void test_captures(void **state)
{
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan =
        make_plan(ctx, "scale", address(0x10000), address(0x20000));
    int64_t n = N;
    DLTensor x = cuda_vector(address(0x10000), KILN_F32, &n);
    const DLTensor *tensors[] = {&x, &x, NULL};

    (void)state;
    fake.capture = KILN_CU_CAPTURE_ACTIVE;
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_INVALID_ARGUMENT);
    assert_text("kiln_plan_prepare: the stream is being captured");
    fake.capture = KILN_CU_CAPTURE_BROKEN;
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_INVALID_ARGUMENT);
    fake.capture = KILN_CU_CAPTURE_NONE;
    fake.capture_result = KILN_CU_CAPTURE_IMPLICIT;
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_INVALID_ARGUMENT);
    assert_text("being captured");
    assert_int_equal(kiln_run(ctx, "scale", tensors, 3, NULL, 0, NULL),
                     KILN_INVALID_ARGUMENT);
    assert_int_equal(fake.calls[FAKE_MODULE_LOAD], 0);
    fake.capture_result = KILN_CU_SUCCESS;
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_OK);
    fake.capture = KILN_CU_CAPTURE_ACTIVE;
    assert_int_equal(kiln_plan_prepare(plan, stream), KILN_OK);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, stream), KILN_OK);
    close_all(plan, ctx);
}

/* A limit that one plan needs outlives another plan's smaller one. */
static void test_limits_rise(void **state)
{
    kiln_context *ctx = open_context("block=2");
    kiln_plan *plan = NULL;

    (void)state;
    assert_int_equal(plan_op(&plan, ctx, "scale", NULL, NULL, 1), KILN_OK);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(fake.shared_limit, CUDA_SHARED_MORE);
    assert_int_equal(fake.calls[FAKE_FUNC_ATTRIBUTE], 1);
    ((kiln_node *)plan->program->nodes)->shared = CUDA_SHARED;
    atomic_store(&plan->prepared, false);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(fake.shared_limit, CUDA_SHARED_MORE);
    assert_int_equal(fake.calls[FAKE_FUNC_ATTRIBUTE], 1);
    ((kiln_node *)plan->program->nodes)->shared = 232449;
    atomic_store(&plan->prepared, false);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_DEVICE_ERROR);
    assert_text("takes 232449 bytes of shared memory a block, NVIDIA H200 has "
                "232448");
    close_all(plan, ctx);
}

/* --- threads -------------------------------------------------------------- */

static void *use_context(void *context)
{
    intptr_t wrong = 0;

    for (int i = 0; i < 50 && wrong == 0; i++) {
        kiln_plan *plan = NULL;
        const char *op = i % 2 == 0 ? "scale" : "axpy";

        wrong |= plan_op(&plan, context, op, address(0x10000), address(0x20000),
                         N) != KILN_OK;
        wrong |= kiln_plan_prepare(plan, stream) != KILN_OK;
        wrong |= kiln_plan_enqueue(plan, NULL, NULL, stream) != KILN_OK;
        kiln_plan_destroy(plan);
    }
    return (void *)(wrong | fake_depth() | fake_mode());
}

static void test_threads(void **state)
{
    kiln_context *ctx = open_context(NULL);
    pthread_t threads[N_THREADS];
    void *wrong;

    (void)state;
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_context, ctx),
                         0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(fake.calls[FAKE_MODULE_LOAD], 1);
    assert_int_equal(fake.calls[FAKE_GET_FUNCTION], 2);
    assert_int_equal(fake.calls[FAKE_FUNC_LOAD], 2);
    assert_int_equal(fake.calls[FAKE_LAUNCH], N_THREADS * 50);
    close_all(NULL, ctx);
}

/* --- kiln_run
 * ------------------------------------------------------------- */

static void test_run(void **state)
{
    kiln_context *ctx = open_context(NULL);
    int64_t n = N;
    DLTensor x = cuda_vector(address(0x10000), KILN_F32, &n);
    DLTensor y = cuda_vector(address(0x20000), KILN_F32, &n);
    const DLTensor *tensors[] = {&x, &y};

    (void)state;
    assert_int_equal(kiln_run(ctx, "twice", tensors, 2, NULL, 0, stream),
                     KILN_OK);
    assert_int_equal(fake.calls[FAKE_MEM_ALLOC_ASYNC], 1);
    assert_int_equal(fake.calls[FAKE_MEM_FREE_ASYNC], 1);
    assert_int_equal(fake.n_launches, 2);
    assert_int_equal(fake.launches[0].args[21] % 256, 0);
    y.data = NULL;
    assert_int_equal(kiln_run(ctx, "twice", tensors, 2, NULL, 0, stream),
                     KILN_INVALID_ARGUMENT);
    assert_text("tensor y: data is NULL");
    assert_int_equal(fake.calls[FAKE_MEM_FREE_ASYNC], 2);
    close_all(NULL, ctx);
}

/* --- describe ------------------------------------------------------------- */

static void test_describe(void **state)
{
    const kiln_options sm80 = {.size = sizeof sm80, .tier = "sm80"};
    kiln_context *ctx = open_context(NULL);
    kiln_plan *plan = make_plan(ctx, "axpy", NULL, NULL);
    char text[1024];

    (void)state;
    assert_int_equal(kiln_plan_describe(plan, text, sizeof text), KILN_OK);
    assert_string_equal(
        text, "op axpy, tier sm90, profile h200, device 0 NVIDIA H200\n"
              "axpy: route map: always\n"
              "launch 0: axpy/map f32 contiguous align16 N=4096\n"
              "  kernel axpy_map_f32_b1, config block=1\n"
              "  certified on NVIDIA H200, error 0.75 of its "
              "limit\n"
              "  arguments 264 bytes, grid 1600 x threads 256, shared 65536 "
              "bytes, cluster 16\n"
              "buffer x: 6400 bytes, the caller's, launches 0 to 0\n"
              "buffer y: 6400 bytes, the caller's, launches 0 to 0\n"
              "total: launches 1, workspace 0 bytes, read 12800 bytes, "
              "written 6400 bytes, 1600 operations\n");
    close_all(plan, ctx);
    assert_int_equal(
        kiln_context_create_on(&ctx, gpu, &sm80, cuda_tables(), &fake_driver),
        KILN_OK);
    plan = make_plan(ctx, "axpy", NULL, NULL);
    assert_int_equal(kiln_plan_describe(plan, text, sizeof text), KILN_OK);
    assert_non_null(strstr(text, "op axpy, tier sm80, profile rtx30 (forced), "
                                 "device 0 NVIDIA H200\n"));
    close_all(plan, ctx);
}

/* --- every call of the driver fails once ---------------------------------- */

/* All that a caller does. The first status that is not KILN_OK. */
static kiln_status use_all(int *closing)
{
    kiln_context *ctx = NULL;
    kiln_plan *plan = NULL;
    kiln_fault fault;
    int64_t n = N;
    DLTensor x = cuda_vector(address(0x10000), KILN_F32, &n);
    DLTensor y = cuda_vector(address(0x20000), KILN_F32, &n);
    const DLTensor *tensors[] = {&x, &y};
    kiln_status status = open_with(&ctx, NULL);

    if (status == KILN_OK) {
        status = plan_op(&plan, ctx, "axpy", x.data, y.data, N);
    }
    if (status == KILN_OK) {
        status = kiln_plan_prepare(plan, stream);
    }
    if (status == KILN_OK) {
        status = kiln_plan_enqueue(plan, NULL, NULL, stream);
    }
    if (status == KILN_OK) {
        status = kiln_run(ctx, "grow", tensors, 2, NULL, 0, stream);
    }
    if (status == KILN_OK) {
        *(uint64_t *)(uintptr_t)kiln_cuda_fault_address(ctx->cuda) = 0;
        status = kiln_fault_check(ctx, &fault);
    }
    *closing = fake.n_calls;
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
    return status;
}

/* What is said of a call that failed on the way back was said already, or
 * nobody is left to hear it. */
static bool is_way_back(int fail_at, int closing)
{
    return fail_at > closing || fake.failed == FAKE_POP ||
           fake.failed == FAKE_EXCHANGE_MODE;
}

/* Who may not enter the context gives nothing back: the context's end does. */
static bool is_locked_out(int fail_at, int closing)
{
    return fail_at > closing || fake.failed == FAKE_GET_CURRENT ||
           fake.failed == FAKE_PUSH;
}

static void test_every_call_fails(void **state)
{
    int closing = 0;
    int n_calls;

    (void)state;
    assert_int_equal(use_all(&closing), KILN_OK);
    n_calls = fake.n_calls;
    assert_true(n_calls > 60);
    for (int i = 1; i <= n_calls; i++) {
        kiln_status status;

        fake_reset();
        fake.fail_at = i;
        status = use_all(&closing);
        if (status == KILN_OK) {
            assert_true(is_way_back(i, closing));
        } else {
            assert_int_equal(status, KILN_DEVICE_ERROR);
            assert_text("(CUDA_ERROR_INVALID_VALUE)");
        }
        assert_int_equal(fake.retained, 0);
        assert_int_equal(fake.alive, 0);
        assert_int_equal(fake.astray, 0);
        assert_int_equal(fake_depth(), 0);
        assert_true(fake.left == 0 || is_locked_out(i, closing));
        if (fake.failed == FAKE_EXCHANGE_MODE) { /* it has no second try */
            int mode = KILN_CU_MODE_GLOBAL;

            (void)fake_driver.exchange_capture_mode(&mode);
        }
        assert_int_equal(fake_mode(), KILN_CU_MODE_GLOBAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_launch, reset),
        cmocka_unit_test_setup(test_cluster_and_fault, reset),
        cmocka_unit_test_setup(test_clears, reset),
        cmocka_unit_test_setup(test_pointers_rechecked, reset),
        cmocka_unit_test_setup(test_enqueue_is_short, reset),
        cmocka_unit_test_setup(test_sizes_refused, reset),
        cmocka_unit_test_setup(test_prepare_refused, reset),
        cmocka_unit_test_setup(test_damaged_module, reset),
        cmocka_unit_test_setup(test_captures, reset),
        cmocka_unit_test_setup(test_limits_rise, reset),
        cmocka_unit_test_setup(test_threads, reset),
        cmocka_unit_test_setup(test_run, reset),
        cmocka_unit_test_setup(test_describe, reset),
        cmocka_unit_test_setup(test_every_call_fails, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
