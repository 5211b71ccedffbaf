/* sources: runtime/core/ tests/unit/fixture_tables.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    assert_non_null(ctx);
    return ctx;
}

/* The latest failure's text holds `part`. */
static void assert_text(const char *part)
{
    if (strstr(kiln_last_error(), part) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", kiln_last_error(), part);
    }
}

/* --- contexts ------------------------------------------------------------- */

static void refuse_context(DLDevice device, const kiln_options *options,
                           kiln_status status, const char *part)
{
    kiln_context *ctx = (kiln_context *)&cpu;

    assert_int_equal(kiln_context_create(&ctx, device, options), status);
    assert_null(ctx);
    assert_text(part);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kiln_version(), KILN_VERSION);
    for (int s = KILN_OK; s <= KILN_INTERNAL; s++) {
        const char *name = kiln_status_name((kiln_status)s);

        assert_memory_equal(name, "KILN_", 5);
        for (int o = KILN_OK; o < s; o++) {
            assert_string_not_equal(name, kiln_status_name((kiln_status)o));
        }
    }
    assert_string_equal(kiln_status_name((kiln_status)99), "?");
}

static void test_option_size(void **state)
{
    kiln_options options = some_options();

    (void)state;
    options.threads = -5;
    options.size = 0;
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "size: 0");
    options.size = sizeof options + sizeof(size_t);
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, KILN_VERSION);
    options.size = sizeof options - 1;
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "size");
    /* An older caller's struct ends before the wrong field. */
    options.size = offsetof(kiln_options, threads);
    kiln_context_destroy(make_context(&options));
    kiln_context_destroy(make_context(NULL));
    kiln_context_destroy(NULL);
    assert_int_equal(kiln_context_create(NULL, cpu, NULL),
                     KILN_INVALID_ARGUMENT);
}

static void test_option_values(void **state)
{
    const kiln_allocator half = {NULL, NULL, NULL};
    kiln_options options = some_options();

    (void)state;
    options.threads = -1;
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "threads: -1");
    options = some_options();
    options.workspace_limit = -2;
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "limit: -2");
    options = some_options();
    options.allocator = &half;
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "allocator");
    options = some_options();
    options.threads = 100000;
    kiln_context_destroy(make_context(&options));
}

static void test_devices_and_tiers(void **state)
{
    const DLDevice cuda = {kDLCUDA, 0};
    const DLDevice second = {kDLCPU, 1};
    kiln_options options = some_options();

    (void)state;
    refuse_context(cuda, NULL, KILN_DEVICE_ERROR, "kDLCUDA");
    refuse_context(second, NULL, KILN_DEVICE_ERROR, "cpu device 1");
    options.tier = "sm91";
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "known: cpu sm90");
    options.tier = "sm90";
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "does not run");
    options.tier = "cpu";
    options.profile = "h200";
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "known: plain strict");
    options.profile = "strict";
    kiln_context_destroy(make_context(&options));
}

static void test_isa(void **state)
{
    kiln_options options = some_options();

    (void)state;
    options.isa = "sse9";
    refuse_context(cpu, &options, KILN_INVALID_ARGUMENT, "known: avx2 base");
    options.isa = "avx2";
    if (kiln_cpu_has("avx2")) {
        kiln_context *ctx = make_context(&options);

        assert_string_equal(ctx->tier->isa, "avx2");
        kiln_context_destroy(ctx);
        ctx = make_context(NULL);
        assert_string_equal(ctx->tier->isa, "avx2");
        kiln_context_destroy(ctx);
    } else {
        refuse_context(cpu, &options, KILN_DEVICE_ERROR, "avx2");
    }
    assert_true(kiln_cpu_has("base"));
    assert_false(kiln_cpu_has("neon"));
    assert_true(kiln_cpu_count() >= 1);
}

static void test_wrong_tables(void **state)
{
    kiln_tables tables = kiln_generated_tables;
    kiln_context *ctx;

    (void)state;
    tables.layout = KILN_TABLE_LAYOUT + 1;
    assert_int_equal(kiln_context_create_on(&ctx, cpu, NULL, &tables, NULL),
                     KILN_INTERNAL);
    assert_text("make gen");
    tables = kiln_generated_tables;
    tables.n_tiers = 0;
    assert_int_equal(kiln_context_create_on(&ctx, cpu, NULL, &tables, NULL),
                     KILN_DEVICE_ERROR);
    tables = kiln_generated_tables;
    tables.n_archs = 1;
    assert_int_equal(kiln_context_create_on(&ctx, cpu, NULL, &tables, NULL),
                     KILN_INTERNAL);
}

/* Strings and the allocator may go once the context stands. */
static void test_options_are_copied(void **state)
{
    kiln_options options = some_options();
    char config[] = "block=2";
    char route[] = "map";
    kiln_context *ctx;

    (void)state;
    options.config = config;
    options.route = route;
    ctx = make_context(&options);
    memset(config, 'x', sizeof config - 1);
    memset(route, 'x', sizeof route - 1);
    assert_string_equal(ctx->config, "block=2");
    assert_string_equal(ctx->route, "map");
    kiln_context_destroy(ctx);
}

static int init(void **state)
{
    (void)state;
    fixture_tables_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_option_size),
        cmocka_unit_test(test_option_values),
        cmocka_unit_test(test_devices_and_tiers),
        cmocka_unit_test(test_isa),
        cmocka_unit_test(test_wrong_tables),
        cmocka_unit_test(test_options_are_copied),
    };

    return cmocka_run_group_tests_name("context", tests, init, NULL);
}
