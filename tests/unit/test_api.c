/* sources: runtime/core/ tests/unit/fixture_tables.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

/* --- planning ------------------------------------------------------------- */

/* Creates a plan of op on vectors x, y (and no bias) of n elements. */
static kiln_status try_plan(kiln_plan **plan, kiln_context *ctx, const char *op,
                            kiln_dtype dtype, int64_t n)
{
    DLTensor x = fixture_vector(NULL, dtype, &n);
    const DLTensor *tensors[] = {&x, &x, NULL};

    return kiln_plan_create(plan, ctx, op, tensors,
                            strcmp(op, "scale") == 0 ? 3 : 2, NULL, 0);
}

static void refuse_plan(kiln_context *ctx, const char *op, kiln_dtype dtype,
                        int64_t n, kiln_status status, const char *part)
{
    kiln_plan *plan = (kiln_plan *)ctx;

    assert_int_equal(try_plan(&plan, ctx, op, dtype, n), status);
    assert_null(plan);
    assert_text(part);
}

static void accept_plan(kiln_context *ctx, const char *op, kiln_dtype dtype,
                        int64_t n)
{
    kiln_plan *plan;

    assert_int_equal(try_plan(&plan, ctx, op, dtype, n), KILN_OK);
    kiln_plan_destroy(plan);
}

static void test_plan_arguments(void **state)
{
    kiln_context *ctx = make_context(NULL);
    int64_t n = 8;
    DLTensor x = fixture_vector(NULL, KILN_F32, &n);
    const DLTensor *tensors[] = {&x, &x, NULL};
    kiln_attr attr = {NULL, KILN_ATTR_FLOAT, {.f = 1.0}};
    kiln_plan *plan;
    const struct {
        kiln_plan **plan;
        kiln_context *ctx;
        const char *op;
        const DLTensor *const *tensors;
        int n_tensors;
        const kiln_attr *attrs;
        int n_attrs;
        const char *part;
    } calls[] = {
        {NULL, ctx, "scale", tensors, 3, NULL, 0, "plan is NULL"},
        {&plan, NULL, "scale", tensors, 3, NULL, 0, "ctx is NULL"},
        {&plan, ctx, NULL, tensors, 3, NULL, 0, "op is NULL"},
        {&plan, ctx, "scale", NULL, 3, NULL, 0, "tensors is NULL"},
        {&plan, ctx, "scale", tensors, -1, NULL, 0, "n_tensors"},
        {&plan, ctx, "scale", tensors, 3, NULL, 1, "attrs is NULL"},
        {&plan, ctx, "scale", tensors, 3, NULL, -1, "n_attrs"},
        {&plan, ctx, "scale", tensors, 3, &attr, 1, "attribute 0"},
        {&plan, ctx, "scale", tensors, 2, NULL, 0, "op scale"},
        {&plan, ctx, "shale", tensors, 3, NULL, 0, "shale"},
        {&plan, ctx, "scale", tensors + 1, 2, NULL, 0, "op scale"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        plan = (kiln_plan *)ctx;
        assert_int_equal(kiln_plan_create(calls[i].plan, calls[i].ctx,
                                          calls[i].op, calls[i].tensors,
                                          calls[i].n_tensors, calls[i].attrs,
                                          calls[i].n_attrs),
                         KILN_INVALID_ARGUMENT);
        assert_text(calls[i].part);
        assert_true(calls[i].plan == NULL || plan == NULL);
    }
    kiln_plan_destroy(NULL);
    kiln_context_destroy(ctx);
}

static void test_plan_attrs(void **state)
{
    kiln_context *ctx = make_context(NULL);
    int64_t n = 8;
    DLTensor x = fixture_vector(NULL, KILN_F32, &n);
    const DLTensor *tensors[] = {&x, &x, NULL};
    kiln_attr attrs[2] = {{"alpha", KILN_ATTR_STRING, {.s = "much"}},
                          {"alpha", KILN_ATTR_FLOAT, {.f = 1.0}}};
    kiln_plan *plan;

    (void)state;
    assert_int_equal(
        kiln_plan_create(&plan, ctx, "scale", tensors, 3, attrs, 1),
        KILN_INVALID_ARGUMENT);
    assert_text("alpha");
    attrs[0] = attrs[1];
    assert_int_equal(
        kiln_plan_create(&plan, ctx, "scale", tensors, 3, attrs, 2),
        KILN_INVALID_ARGUMENT);
    attrs[0].kind = (kiln_attr_kind)77;
    assert_int_equal(
        kiln_plan_create(&plan, ctx, "scale", tensors, 3, attrs, 1),
        KILN_INVALID_ARGUMENT);
    attrs[0] = (kiln_attr){"beta", KILN_ATTR_FLOAT, {.f = 1.0}};
    assert_int_equal(
        kiln_plan_create(&plan, ctx, "scale", tensors, 3, attrs, 1),
        KILN_INVALID_ARGUMENT);
    assert_text("beta");
    kiln_context_destroy(ctx);
}

static void test_certificates(void **state)
{
    kiln_options options = some_options();
    kiln_context *ctx = make_context(&options);

    (void)state;
    accept_plan(ctx, "scale", KILN_F32, FIXTURE_SERVED);
    refuse_plan(ctx, "scale", KILN_F32, FIXTURE_SERVED + 1, KILN_STALE,
                "scale/map f32");
    refuse_plan(ctx, "scale", KILN_F32, FIXTURE_LARGEST + 1, KILN_UNCERTIFIED,
                "nearest");
    refuse_plan(ctx, "scale", KILN_F64, 10, KILN_UNCERTIFIED, "forced");
    refuse_plan(ctx, "scale", KILN_I32, 10, KILN_INVALID_ARGUMENT, "x");
    kiln_context_destroy(ctx);
    options.accept_forced = 1;
    ctx = make_context(&options);
    accept_plan(ctx, "scale", KILN_F64, 10);
    kiln_context_destroy(ctx);
}

static void test_forcing_options(void **state)
{
    kiln_options options = some_options();
    kiln_context *ctx;

    (void)state;
    options.workspace_limit = 4096;
    ctx = make_context(&options);
    accept_plan(ctx, "twice", KILN_F32, 1024);
    refuse_plan(ctx, "twice", KILN_F32, 1025, KILN_WORKSPACE_LIMIT, "4100");
    kiln_context_destroy(ctx);

    options = some_options();
    options.config = "block=2";
    ctx = make_context(&options);
    accept_plan(ctx, "scale", KILN_F32, 10);
    kiln_context_destroy(ctx);
    options.config = "block=3";
    ctx = make_context(&options);
    refuse_plan(ctx, "scale", KILN_F32, 10, KILN_UNCERTIFIED, "block=3");
    kiln_context_destroy(ctx);

    options = some_options();
    options.route = "small";
    ctx = make_context(&options);
    refuse_plan(ctx, "scale", KILN_F32, 65, KILN_INVALID_ARGUMENT, "small");
    accept_plan(ctx, "scale", KILN_F32, 64);
    kiln_context_destroy(ctx);
}

/* --- faults --------------------------------------------------------------- */

static void test_fault_check(void **state)
{
    kiln_context *ctx = make_context(NULL);
    kiln_fault fault = {"x", 3};

    (void)state;
    assert_int_equal(kiln_fault_check(ctx, &fault), KILN_OK);
    assert_null(fault.op);
    assert_int_equal(kiln_fault_check(ctx, NULL), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_fault_check(NULL, &fault), KILN_INVALID_ARGUMENT);
    kiln_context_destroy(ctx);
}

/* --- allocation ----------------------------------------------------------- */

typedef struct ration {
    int left; /* allocations still granted; negative: any number */
    int live;
    int calls;
} ration;

static void *ration_allocate(void *user, size_t bytes)
{
    ration *r = user;

    r->calls++;
    if (r->left == 0) {
        return NULL;
    }
    r->left -= r->left > 0;
    r->live++;
    return malloc(bytes);
}

static void ration_release(void *user, void *memory)
{
    ((ration *)user)->live--;
    free(memory);
}

static void hear_nothing(void *user, const char *text)
{
    (void)user;
    (void)text;
}

static void test_context_allocations(void **state)
{
    ration r = {0, 0, 0};
    const kiln_allocator allocator = {ration_allocate, ration_release, &r};
    kiln_options options = some_options();
    char config[6000];
    kiln_context *ctx;
    int n = 0;

    (void)state;
    memset(config, 'c', sizeof config);
    config[sizeof config - 1] = '\0';
    options.allocator = &allocator;
    options.config = config;
    options.log = hear_nothing;
    for (;; n++) {
        kiln_status status;

        r.left = n;
        status = kiln_context_create(&ctx, cpu, &options);
        if (status == KILN_OK) {
            break;
        }
        assert_int_equal(status, KILN_OUT_OF_MEMORY);
        assert_null(ctx);
        assert_int_equal(r.live, 0);
    }
    assert_true(n >= 2);
    kiln_context_destroy(ctx);
    assert_int_equal(r.live, 0);
}

/* Every allocation of a plan refused once; also its workspace. */
static void test_plan_allocations(void **state)
{
    ration r = {-1, 0, 0};
    const kiln_allocator allocator = {ration_allocate, ration_release, &r};
    kiln_options options = some_options();
    kiln_context *ctx;
    float x[100] = {0}, y[100];
    int64_t size = 100;
    DLTensor tensors[] = {fixture_vector(x, KILN_F32, &size),
                          fixture_vector(y, KILN_F32, &size)};
    const DLTensor *pointers[] = {&tensors[0], &tensors[1]};
    int n = 0;
    int held;

    (void)state;
    options.allocator = &allocator;
    ctx = make_context(&options);
    held = r.live;
    for (;; n++) {
        kiln_status status;

        r.left = n;
        status = kiln_run(ctx, "grow", pointers, 2, NULL, 0, NULL);
        assert_int_equal(r.live, held);
        if (status == KILN_OK) {
            break;
        }
        assert_int_equal(status, KILN_OUT_OF_MEMORY);
        assert_text("op grow");
    }
    assert_true(n >= 2);
    r.left = -1;
    kiln_context_destroy(ctx);
    assert_int_equal(r.live, 0);
}

/* A plan of a simple op is one allocation; enqueue makes none. */
static void test_allocation_counts(void **state)
{
    ration r = {-1, 0, 0};
    const kiln_allocator allocator = {ration_allocate, ration_release, &r};
    kiln_options options = some_options();
    kiln_context *ctx;
    float x[10] = {0};
    int64_t size = 10;
    DLTensor tensor = fixture_vector(x, KILN_F32, &size);
    const DLTensor *pointers[] = {&tensor, &tensor, NULL};
    kiln_plan *plan;
    int before;

    (void)state;
    options.allocator = &allocator;
    ctx = make_context(&options);
    before = r.calls;
    assert_int_equal(
        kiln_plan_create(&plan, ctx, "scale", pointers, 3, NULL, 0), KILN_OK);
    assert_int_equal(r.calls, before + 1);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL), KILN_OK);
    assert_int_equal(r.calls, before + 1);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
    assert_int_equal(r.live, 0);
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
        cmocka_unit_test(test_plan_arguments),
        cmocka_unit_test(test_plan_attrs),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_forcing_options),
        cmocka_unit_test(test_fault_check),
        cmocka_unit_test(test_context_allocations),
        cmocka_unit_test(test_plan_allocations),
        cmocka_unit_test(test_allocation_counts),
    };

    return cmocka_run_group_tests_name("api", tests, init, NULL);
}
