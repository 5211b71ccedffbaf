/* sources: runtime/core/ tests/unit/fixture_tables.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_tables.h"
#include "internal.h"

static const DLDevice cpu = {kDLCPU, 0};

static kiln_options some_options(void)
{
    return (kiln_options){.size = sizeof(kiln_options), .isa = "base"};
}

static kiln_context *make_context(const kiln_options *options)
{
    kiln_context *ctx = NULL;

    assert_int_equal(kiln_context_create(&ctx, cpu, options), KILN_OK);
    return ctx;
}

static kiln_plan *make_plan(kiln_context *ctx, const char *op, kiln_dtype dtype,
                            int64_t n)
{
    DLTensor x = fixture_vector(NULL, dtype, &n);
    const DLTensor *tensors[] = {&x, &x, NULL};
    kiln_plan *plan = NULL;

    assert_int_equal(kiln_plan_create(&plan, ctx, op, tensors,
                                      strcmp(op, "scale") == 0 ? 3 : 2, NULL,
                                      0),
                     KILN_OK);
    return plan;
}

/* --- describe ------------------------------------------------------------- */

static void check_text(const kiln_options *options, const char *op,
                       kiln_dtype dtype, int64_t n, const char *expected)
{
    kiln_context *ctx = make_context(options);
    kiln_plan *plan = make_plan(ctx, op, dtype, n);
    char text[4096];

    assert_int_equal(kiln_plan_describe(plan, text, sizeof text), KILN_OK);
    assert_string_equal(text, expected);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

static const char grow_text[] =
    "op grow, tier cpu base, profile plain\n"
    "grow: route steps: always\n"
    "  axpy: route map: always\n"
    "  scale: route map: always; before it, \"numel(x) <= 64\" does not hold\n"
    "launch 0: clears temporary t, 4000 bytes\n"
    "launch 1: axpy/map f32 contiguous N=4096\n"
    "  kernel axpy_map_f32_b1, config block=1\n"
    "  certified on Some Processor, error 0.75 of its limit\n"
    "  arguments 248 bytes, units 1000, grain 256\n"
    "launch 2: scale/map f32 contiguous N=4096\n"
    "  kernel scale_map_f32_b1, config block=1\n"
    "  certified on Some Processor, error 0.25 of its limit\n"
    "  arguments 328 bytes, units 1000, grain 256\n"
    "buffer x: 4000 bytes, the caller's, launches 1 to 1\n"
    "buffer y: 4000 bytes, the caller's, launches 2 to 2\n"
    "buffer t: 4000 bytes, workspace + 0, launches 0 to 2\n"
    "total: launches 3, workspace 4000 bytes, read 12000 bytes, written "
    "12000 bytes, 2000 operations\n";

static void test_steps(void **state)
{
    const kiln_options options = some_options();

    (void)state;
    check_text(&options, "grow", KILN_F32, 1000, grow_text);
}

static void test_forced(void **state)
{
    kiln_options options = some_options();

    (void)state;
    options.config = "block=2";
    options.route = "map";
    options.profile = "strict";
    check_text(&options, "scale", KILN_F32, 64,
               "op scale, tier cpu base, profile strict\n"
               "scale: route map: always; chosen by option route\n"
               "launch 0: scale/map f32 contiguous align16 N=64\n"
               "  kernel scale_map_f32_b2, config block=2\n"
               "  forced config, no evidence for this key\n"
               "  arguments 328 bytes, units 64, grain 256\n"
               "buffer x: 256 bytes, the caller's, launches 0 to 0\n"
               "buffer y: 256 bytes, the caller's, launches 0 to 0\n"
               "buffer bias: 0 bytes, the caller's, not used\n"
               "total: launches 1, workspace 0 bytes, read 256 bytes, written "
               "256 bytes, 64 operations\n");
}

static void test_forced_evidence(void **state)
{
    kiln_options options = some_options();

    (void)state;
    options.accept_forced = 1;
    check_text(&options, "scale", KILN_F64, 8,
               "op scale, tier cpu base, profile plain\n"
               "scale: route small: \"numel(x) <= 64\" holds\n"
               "launch 0: scale/small f64 contiguous N=64\n"
               "  kernel scale_map_f64_b1, config block=1\n"
               "  forced evidence on Some Processor, error 0.00 "
               "of its limit\n"
               "  arguments 328 bytes, units 8, grain 256\n"
               "buffer x: 64 bytes, the caller's, launches 0 to 0\n"
               "buffer y: 64 bytes, the caller's, launches 0 to 0\n"
               "buffer bias: 0 bytes, the caller's, not used\n"
               "total: launches 1, workspace 0 bytes, read 64 bytes, written "
               "64 bytes, 8 operations\n");
}

static void test_empty(void **state)
{
    const kiln_options options = some_options();

    (void)state;
    check_text(&options, "grow", KILN_F32, 0,
               "op grow, tier cpu base, profile plain\n"
               "buffer x: 0 bytes, the caller's, not used\n"
               "buffer y: 0 bytes, the caller's, not used\n"
               "total: launches 0, workspace 0 bytes, read 0 bytes, written 0 "
               "bytes, 0 operations\n");
}

/* Any room gives whole lines, ends in NUL and keeps to itself. */
static void test_cut(void **state)
{
    const kiln_options options = some_options();
    kiln_context *ctx = make_context(&options);
    kiln_plan *plan = make_plan(ctx, "grow", KILN_F32, 1000);
    const size_t whole = sizeof grow_text; /* with its NUL */
    char text[sizeof grow_text + 8];

    (void)state;
    for (size_t cap = 1; cap <= whole + 1; cap++) {
        size_t n;

        memset(text, '#', sizeof text);
        assert_int_equal(kiln_plan_describe(plan, text, cap), KILN_OK);
        n = strlen(text);
        assert_true(n < cap);
        assert_memory_equal(text, grow_text, n);
        assert_true(n == 0 || text[n - 1] == '\n');
        /* The next line would not have fitted. */
        if (n + 1 < whole) {
            const char *next = strchr(grow_text + n, '\n');

            assert_true((size_t)(next - grow_text) + 2 > cap);
        }
        for (size_t i = cap; i < sizeof text; i++) {
            assert_int_equal(text[i], '#');
        }
    }
    assert_int_equal(kiln_plan_describe(plan, text, 0), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_describe(plan, NULL, 9), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_describe(NULL, text, 9), KILN_INVALID_ARGUMENT);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

/* --- cost ----------------------------------------------------------------- */

static void test_cost(void **state)
{
    const kiln_options options = some_options();
    kiln_context *ctx = make_context(&options);
    kiln_plan *plan = make_plan(ctx, "grow", KILN_F32, 1000);
    kiln_buffer_cost buffers[3] = {{"untouched", 1, 2, 3, 4}};
    kiln_cost cost = {.buffers = NULL};

    (void)state;
    assert_int_equal(kiln_plan_cost(plan, &cost), KILN_OK);
    assert_int_equal(cost.workspace_bytes, 4000);
    assert_int_equal(cost.workspace_bytes, kiln_plan_workspace(plan));
    assert_int_equal(cost.bytes_read, 12000);
    assert_int_equal(cost.bytes_written, 12000);
    assert_int_equal(cost.flops, 2000);
    assert_int_equal(cost.launches, 3);
    assert_int_equal(cost.n_buffers, 3);
    buffers[2].name = "untouched";
    cost.buffers = buffers;
    cost.buffer_capacity = 2;
    assert_int_equal(kiln_plan_cost(plan, &cost), KILN_OK);
    assert_string_equal(buffers[0].name, "x");
    assert_int_equal(buffers[0].offset, -1);
    assert_string_equal(buffers[2].name, "untouched");
    cost.buffer_capacity = 3;
    assert_int_equal(kiln_plan_cost(plan, &cost), KILN_OK);
    assert_string_equal(buffers[2].name, "t");
    assert_int_equal(buffers[2].bytes, 4000);
    assert_int_equal(buffers[2].offset, 0);
    assert_int_equal(buffers[2].first_use, 0);
    assert_int_equal(buffers[2].last_use, 2);
    cost.buffer_capacity = -1;
    assert_int_equal(kiln_plan_cost(plan, &cost), KILN_INVALID_ARGUMENT);
    cost.buffer_capacity = 1;
    cost.buffers = NULL;
    assert_int_equal(kiln_plan_cost(plan, &cost), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_cost(plan, NULL), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_cost(NULL, &cost), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_workspace(NULL), 0);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

/* --- log ------------------------------------------------------------------ */

typedef struct record {
    char text[1024];
    kiln_context *ctx;
} record;

/* May plan from inside: no lock is held. */
static void write_down(void *user, const char *text)
{
    record *r = user;

    strcat(r->text, text);
    strcat(r->text, "\n");
    if (r->ctx != NULL) {
        kiln_plan_destroy(make_plan(r->ctx, "axpy", KILN_F32, 5));
    }
}

static void test_log(void **state)
{
    record heard = {"", NULL};
    kiln_options options = some_options();
    kiln_context *ctx;

    (void)state;
    options.log = write_down;
    options.log_user = &heard;
    ctx = make_context(&options);
    for (int i = 0; i < 3; i++) {
        kiln_plan_destroy(make_plan(ctx, "scale", KILN_F32, 100));
        kiln_plan_destroy(make_plan(ctx, "twice", KILN_F32, 10));
        kiln_plan_destroy(make_plan(ctx, "twice", KILN_F32, 100));
    }
    assert_string_equal(heard.text,
                        "scale: route map: always; before it, \"numel(x) <= "
                        "64\" does not hold\n"
                        "twice: route steps: always\n"
                        "scale: route small: \"numel(x) <= 64\" holds\n");
    kiln_context_destroy(ctx);

    heard.text[0] = '\0';
    ctx = make_context(&options);
    heard.ctx = ctx;
    kiln_plan_destroy(make_plan(ctx, "twice", KILN_F32, 100));
    assert_string_equal(heard.text,
                        "twice: route steps: always\n"
                        "axpy: route map: always\n"
                        "scale: route map: always; before it, \"numel(x) <= "
                        "64\" does not hold\n");
    kiln_context_destroy(ctx);
}

static int init(void **state)
{
    (void)state;
    /* Numbers keep their point where the locale has a comma. */
    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    fixture_tables_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps), cmocka_unit_test(test_forced),
        cmocka_unit_test(test_empty), cmocka_unit_test(test_forced_evidence),
        cmocka_unit_test(test_cut),   cmocka_unit_test(test_cost),
        cmocka_unit_test(test_log),
    };

    return cmocka_run_group_tests_name("describe", tests, init, NULL);
}
