/* sources: runtime/core/ tests/unit/fixture_tables.c tests/unit/cuda_tables.c
   tests/unit/fake_cuda.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c */
/* CUDA contexts on a driver that only counts: tables for a device, what is
 * held and given back, error texts, the fault word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda_tables.h"
#include "fake_cuda.h"
#include "internal.h"

static const DLDevice gpu = {kDLCUDA, 0};

static kiln_status open_with(kiln_context **ctx, const char *tier,
                             const char *profile)
{
    const kiln_options options = {
        .size = sizeof options, .tier = tier, .profile = profile};

    return kiln_context_create_on(ctx, gpu, &options, cuda_tables(),
                                  &fake_driver);
}

static kiln_context *open_context(void)
{
    kiln_context *ctx = NULL;

    assert_int_equal(open_with(&ctx, NULL, NULL), KILN_OK);
    assert_non_null(ctx);
    return ctx;
}

static void assert_text(const char *part)
{
    if (strstr(kiln_last_error(), part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, kiln_last_error());
    }
}

/* Nothing is held, nothing was done astray, the thread is as it was. */
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

static int reset(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

/* --- tables for a device -------------------------------------------------- */

static void check_choice(const char *name, int capability, int bytes,
                         const char *tier, const char *profile, bool forced)
{
    kiln_context *ctx = NULL;

    fake.name = name;
    fake.capability = capability;
    fake.shared_bytes = bytes;
    assert_int_equal(open_with(&ctx, NULL, NULL), KILN_OK);
    assert_string_equal(ctx->tier->tier, tier);
    assert_string_equal(ctx->arch->name, profile);
    assert_int_equal(ctx->forced, forced);
    kiln_context_destroy(ctx);
    assert_clean();
}

/* Capabilities and shared memory: CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability". */
static void test_device_tables(void **state)
{
    (void)state;
    check_choice("NVIDIA H200", 90, 232448, "sm90", "h200", false);
    check_choice("NVIDIA H100 80GB HBM3", 90, 232448, "sm90", "h100", false);
    check_choice("NVIDIA GH200 480GB", 90, 232448, "sm90", "h100", false);
    check_choice("NVIDIA A100-SXM4-40GB", 80, 166912, "sm80", "a100", false);
    check_choice("NVIDIA GeForce RTX 3090", 86, 101376, "sm80", "rtx30", false);
    check_choice("NVIDIA GeForce RTX 4090", 89, 101376, "sm80", "rtx30", false);
}

static void refuse(kiln_status status, const char *tier, const char *profile,
                   const char *part)
{
    kiln_context *ctx = (void *)&status;

    assert_int_equal(open_with(&ctx, tier, profile), status);
    assert_null(ctx);
    assert_text(part);
    assert_clean();
}

static void test_device_refused(void **state)
{
    (void)state;
    fake.name = "NVIDIA B200";
    fake.capability = 100;
    refuse(KILN_DEVICE_ERROR, NULL, NULL,
           "NVIDIA B200 has capability 10.0 and 232448 bytes");
    assert_text("h200 (sm90, capability 9.0, 232448 bytes)");
    fake.name = "Quadro RTX 8000";
    fake.capability = 75;
    fake.shared_bytes = 65535;
    refuse(KILN_DEVICE_ERROR, NULL, NULL, "no profile fits");
    fake.name = "Tesla T4";
    fake.shared_bytes = 65536;
    refuse(KILN_DEVICE_ERROR, NULL, NULL,
           "tier sm75 of profile t4 is not built into this library; it "
           "holds: cpu sm80 sm90");
}

static void test_forced(void **state)
{
    kiln_context *ctx = NULL;

    (void)state;
    assert_int_equal(open_with(&ctx, "sm80", NULL), KILN_OK);
    assert_string_equal(ctx->arch->name, "rtx30"); /* most capability */
    assert_true(ctx->forced);
    kiln_context_destroy(ctx);
    assert_int_equal(open_with(&ctx, NULL, "a100"), KILN_OK);
    assert_string_equal(ctx->tier->tier, "sm80");
    assert_true(ctx->forced);
    kiln_context_destroy(ctx);
    assert_int_equal(open_with(&ctx, "sm90", "h100"), KILN_OK);
    assert_true(ctx->forced);
    kiln_context_destroy(ctx);
    assert_int_equal(open_with(&ctx, "sm90", "h200"), KILN_OK);
    assert_false(ctx->forced);
    kiln_context_destroy(ctx);
    refuse(KILN_INVALID_ARGUMENT, "sm80", "h200",
           "h200 is of tier sm90, option tier says sm80");
    refuse(KILN_INVALID_ARGUMENT, NULL, "plain",
           "option profile: no \"plain\"");
    refuse(KILN_INVALID_ARGUMENT, "cpu", NULL, "option tier: no \"cpu\"");
    refuse(KILN_DEVICE_ERROR, "sm75", NULL, "tier sm75 of profile t4 is not");
    fake.name = "NVIDIA A100-SXM4-40GB";
    fake.capability = 80;
    fake.shared_bytes = 166912;
    refuse(KILN_INVALID_ARGUMENT, "sm90", NULL, "wants capability 9.0");
    refuse(KILN_INVALID_ARGUMENT, NULL, "rtx30", "wants capability 8.6");
    assert_text("A100-SXM4-40GB has capability 8.0");
}

static void refuse_device(DLDevice device, const kiln_options *options,
                          kiln_status status, const char *part)
{
    kiln_context *ctx = (void *)&device;

    assert_int_equal(kiln_context_create_on(&ctx, device, options,
                                            cuda_tables(), &fake_driver),
                     status);
    assert_null(ctx);
    assert_text(part);
    assert_clean();
}

static void test_no_device(void **state)
{
    const kiln_options isa = {.size = sizeof isa, .isa = "base"};

    (void)state;
    refuse_device((DLDevice){kDLCUDA, 2}, NULL, KILN_DEVICE_ERROR,
                  "cuda device 2 does not exist; the driver shows 2");
    refuse_device((DLDevice){kDLCUDA, -1}, NULL, KILN_DEVICE_ERROR, "-1");
    refuse_device((DLDevice){kDLCUDAManaged, 0}, NULL, KILN_DEVICE_ERROR,
                  "(kDLCUDAManaged)");
    refuse_device((DLDevice){kDLCUDAHost, 0}, NULL, KILN_DEVICE_ERROR,
                  "(kDLCUDAHost)");
    refuse_device(gpu, &isa, KILN_INVALID_ARGUMENT, "option isa");
    fake.devices = 0;
    refuse_device(gpu, NULL, KILN_DEVICE_ERROR,
                  "cuda device 0: cuInit: a text (CUDA_ERROR_NO_DEVICE)");
}

/* --- the caller's thread -------------------------------------------------- */

static void test_foreign_context(void **state)
{
    char other;
    kiln_context *ctx;
    kiln_fault fault;

    (void)state;
    fake_push(&other);
    ctx = open_context();
    assert_ptr_equal(fake_current(), &other);
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_OK);
    assert_ptr_equal(fake_current(), &other);
    kiln_context_destroy(ctx);
    assert_ptr_equal(fake_current(), &other);
    assert_int_equal(fake_depth(), 1);
    fake_pop();
    assert_int_equal(fake.calls[FAKE_PUSH], fake.calls[FAKE_POP]);
    assert_clean();
}

/* --- errors --------------------------------------------------------------- */

static void test_error_texts(void **state)
{
    kiln_context *ctx = open_context();
    kiln_fault fault;

    (void)state;
    fake.sticky = KILN_CU_ILLEGAL_ADDRESS;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_DEVICE_ERROR);
    assert_string_equal(
        kiln_last_error(),
        "kiln_fault_check: cuCtxSynchronize: an illegal access "
        "(CUDA_ERROR_ILLEGAL_ADDRESS); earlier work on the device failed, and "
        "the driver takes no more from this process");
    fake.sticky = KILN_CU_OUT_OF_MEMORY;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_OUT_OF_MEMORY);
    fake.sticky = 12345;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_DEVICE_ERROR);
    assert_text("error 12345 of the CUDA driver");
    fake.sticky = 0;
    kiln_context_destroy(ctx);
    assert_clean();
}

/* A device that failed can still be left. */
static void test_destroy_lost(void **state)
{
    kiln_context *ctx = open_context();

    (void)state;
    fake.sticky = KILN_CU_ILLEGAL_ADDRESS;
    kiln_context_destroy(ctx);
    assert_clean();
}

/* --- faults --------------------------------------------------------------- */

static void test_faults(void **state)
{
    kiln_context *ctx = open_context();
    uint64_t *word = (void *)(uintptr_t)kiln_cuda_fault_address(ctx->cuda);
    kiln_fault fault = {"?", 5};

    (void)state;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_OK);
    assert_null(fault.op);
    *word = (uint64_t)2 << 48 | 123456789012;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_OK);
    assert_string_equal(fault.op, "scale");
    assert_int_equal(fault.position, 123456789012);
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_OK);
    assert_null(fault.op);
    *word = (uint64_t)4 << 48;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_INTERNAL);
    assert_text("0004000000000000 names no op");
    kiln_context_destroy(ctx);
    assert_clean();
}

/* --- two contexts, forks, memory ------------------------------------------ */

static void test_two_contexts(void **state)
{
    kiln_context *one = open_context();
    kiln_context *two = open_context();

    (void)state;
    assert_int_not_equal(kiln_cuda_fault_address(one->cuda),
                         kiln_cuda_fault_address(two->cuda));
    assert_int_equal(fake.retained, 2);
    kiln_context_destroy(one);
    assert_int_equal(fake.retained, 1);
    kiln_context_destroy(two);
    assert_clean();
}

/* In the child no call reaches the driver. The memory that the fake holds for
 * a device is left behind there, as a driver's is. */
static void test_fork(void **state)
{
    kiln_context *ctx = open_context();
    const int calls = fake.n_calls;
    kiln_fault fault;
    int status = -1;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        bool refused = kiln_fault_check(ctx, &fault) == KILN_FORKED;

        kiln_context_destroy(ctx);
        _exit(refused && fake.n_calls == calls ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kiln_context_destroy(ctx);
    assert_clean();
}

static int allocations_left;

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static void test_host_memory_refused(void **state)
{
    const kiln_allocator allocator = {allocate, release, NULL};
    const kiln_options options = {.size = sizeof options,
                                  .allocator = &allocator};
    kiln_context *ctx = NULL;
    int n = 0;

    (void)state;
    for (;; n++) {
        allocations_left = n;
        if (kiln_context_create_on(&ctx, gpu, &options, cuda_tables(),
                                   &fake_driver) == KILN_OK) {
            break;
        }
        assert_int_equal(kiln_thread_error()->status, KILN_OUT_OF_MEMORY);
        assert_null(ctx);
        assert_clean();
    }
    assert_true(n >= 2);
    kiln_context_destroy(ctx);
    assert_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_device_tables, reset),
        cmocka_unit_test_setup(test_device_refused, reset),
        cmocka_unit_test_setup(test_forced, reset),
        cmocka_unit_test_setup(test_no_device, reset),
        cmocka_unit_test_setup(test_foreign_context, reset),
        cmocka_unit_test_setup(test_error_texts, reset),
        cmocka_unit_test_setup(test_destroy_lost, reset),
        cmocka_unit_test_setup(test_faults, reset),
        cmocka_unit_test_setup(test_two_contexts, reset),
        cmocka_unit_test_setup(test_fork, reset),
        cmocka_unit_test_setup(test_host_memory_refused, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
