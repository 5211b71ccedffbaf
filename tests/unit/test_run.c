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

static kiln_context *make_context(const char *profile, int threads)
{
    kiln_options options = {.size = sizeof options,
                            .isa = "base",
                            .profile = profile,
                            .threads = threads};
    kiln_context *ctx = NULL;

    assert_int_equal(kiln_context_create(&ctx, cpu, &options), KILN_OK);
    return ctx;
}

static void assert_text(const char *part)
{
    if (strstr(kiln_last_error(), part) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", kiln_last_error(), part);
    }
}

/* A prepared plan of op on dense vectors x and y of n floats. */
static kiln_plan *make_plan(kiln_context *ctx, const char *op, void *x, void *y,
                            int64_t n)
{
    DLTensor tx = fixture_vector(x, KILN_F32, &n);
    DLTensor ty = fixture_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty, NULL};
    kiln_plan *plan = NULL;

    assert_int_equal(kiln_plan_create(&plan, ctx, op, tensors,
                                      strcmp(op, "scale") == 0 ? 3 : 2, NULL,
                                      0),
                     KILN_OK);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    return plan;
}

static void refuse(const kiln_plan *plan, void *const *data, void *workspace,
                   const char *part)
{
    assert_int_equal(kiln_plan_enqueue(plan, data, workspace, NULL),
                     KILN_INVALID_ARGUMENT);
    assert_text(part);
}

/* --- enqueue -------------------------------------------------------------- */

static void test_states(void **state)
{
    kiln_context *ctx = make_context(NULL, 1);
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    int64_t n = 4;
    DLTensor tx = fixture_vector(x, KILN_F32, &n);
    DLTensor ty = fixture_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty, NULL};
    kiln_plan *plan;

    (void)state;
    assert_int_equal(kiln_plan_create(&plan, ctx, "scale", tensors, 3, NULL, 0),
                     KILN_OK);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL),
                     KILN_NOT_PREPARED);
    assert_text("kiln_plan_prepare");
    assert_int_equal(kiln_plan_prepare(NULL, NULL), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_prepare(plan, x), KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(kiln_plan_enqueue(NULL, NULL, NULL, NULL),
                     KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, x),
                     KILN_INVALID_ARGUMENT);
    assert_text("stream");
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL), KILN_OK);
    for (int i = 0; i < 4; i++) {
        assert_true(y[i] == 2 * x[i]);
    }
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

static void test_replaced_pointers(void **state)
{
    kiln_context *ctx = make_context(NULL, 1);
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[9], c[8];
    kiln_plan *planned = make_plan(ctx, "scale", a, c, 8);
    kiln_plan *open = make_plan(ctx, "scale", NULL, NULL, 8);

    (void)state;
    refuse(open, NULL, NULL, "tensor x: data is NULL");
    for (int i = 0; i < 2; i++) {
        kiln_plan *plan = i == 0 ? planned : open;
        void *good[] = {a, b, NULL};
        void *absent_given[] = {a, b, c};
        void *null_out[] = {a, NULL, NULL};
        void *odd[] = {a, (char *)b + 2, NULL};
        void *shifted[] = {a, a + 1, NULL};
        void *in_place[] = {c, c, NULL};

        memset(b, 0, sizeof b);
        assert_int_equal(kiln_plan_enqueue(plan, good, NULL, NULL), KILN_OK);
        assert_true(b[0] == 2 && b[7] == 16 && b[8] == 0);
        assert_int_equal(kiln_plan_enqueue(plan, absent_given, NULL, NULL),
                         KILN_OK);
        refuse(plan, null_out, NULL, "tensor y: data is NULL");
        refuse(plan, odd, NULL, "tensor y: data is not aligned");
        refuse(plan, shifted, NULL, "overlaps");
        memcpy(c, a, sizeof c);
        assert_int_equal(kiln_plan_enqueue(plan, in_place, NULL, NULL),
                         KILN_OK);
        assert_true(c[0] == 2 && c[7] == 16);
        assert_true(a[0] == 1 && a[7] == 8);
    }
    kiln_plan_destroy(planned);
    kiln_plan_destroy(open);
    kiln_context_destroy(ctx);
}

/* byte_offset is added to the pointer given at enqueue. */
static void test_byte_offset(void **state)
{
    kiln_context *ctx = make_context(NULL, 1);
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    int64_t n = 2;
    DLTensor tx = fixture_vector(NULL, KILN_F32, &n);
    DLTensor ty = fixture_vector(NULL, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty, NULL};
    void *data[] = {x, y, NULL};
    kiln_plan *plan;

    (void)state;
    tx.byte_offset = 8;
    ty.byte_offset = 4;
    assert_int_equal(kiln_plan_create(&plan, ctx, "scale", tensors, 3, NULL, 0),
                     KILN_OK);
    assert_int_equal(kiln_plan_prepare(plan, NULL), KILN_OK);
    assert_int_equal(kiln_plan_enqueue(plan, data, NULL, NULL), KILN_OK);
    assert_true(y[0] == 0 && y[1] == 6 && y[2] == 8 && y[3] == 0);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

/* A key that holds the alignment binds later pointers to it. */
static void test_alignment_class(void **state)
{
    kiln_context *ctx = make_context("strict", 1);
    _Alignas(16) float x[12] = {1, 2, 3, 4};
    _Alignas(16) float y[12] = {0};
    kiln_plan *plan = make_plan(ctx, "scale", x, y, 4);
    void *same[] = {x + 4, y + 4, NULL};
    void *less[] = {x + 1, y, NULL};

    (void)state;
    assert_int_equal(kiln_plan_enqueue(plan, same, NULL, NULL), KILN_OK);
    refuse(plan, less, NULL, "tensor x: data is less aligned");
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

static void test_optional_tensor(void **state)
{
    kiln_context *ctx = make_context(NULL, 1);
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6], bias = 100;
    int64_t shape[] = {2, 3}, one = 1;
    int64_t by_columns[] = {1, 2};
    DLTensor tx = fixture_vector(x, KILN_F32, shape);
    DLTensor ty = fixture_vector(y, KILN_F32, shape);
    DLTensor tb = fixture_vector(&bias, KILN_F32, &one);
    const DLTensor *tensors[] = {&tx, &ty, &tb};

    (void)state;
    tx.ndim = ty.ndim = 2;
    ty.strides = by_columns;
    assert_int_equal(kiln_run(ctx, "scale", tensors, 3, NULL, 0, NULL),
                     KILN_OK);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            assert_true(y[i + 2 * j] == 2 * x[3 * i + j] + 100);
        }
    }
    kiln_context_destroy(ctx);
}

/* Nothing is launched, no pointer or workspace is asked for. */
static void test_empty(void **state)
{
    static const char *const ops[] = {"scale", "twice", "grow", "axpy"};
    kiln_context *ctx = make_context(NULL, 2);

    (void)state;
    for (int i = 0; i < 4; i++) {
        kiln_plan *plan = make_plan(ctx, ops[i], NULL, NULL, 0);
        void *data[] = {NULL, NULL, NULL};
        kiln_cost cost = {.buffers = NULL};

        assert_int_equal(kiln_plan_workspace(plan), 0);
        assert_int_equal(kiln_plan_cost(plan, &cost), KILN_OK);
        assert_int_equal(cost.launches, 0);
        assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL), KILN_OK);
        assert_int_equal(kiln_plan_enqueue(plan, data, NULL, NULL), KILN_OK);
        kiln_plan_destroy(plan);
    }
    kiln_context_destroy(ctx);
}

/* Steps on a workspace that held NaNs; `grow` relies on its zeros. */
static void test_workspace(void **state)
{
    enum { N = 300, BYTES = 1280 };
    kiln_context *ctx = make_context(NULL, 2);
    static _Alignas(256) unsigned char workspace[BYTES + 256];
    float x[N], y[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i - 7;
    }
    for (int i = 0; i < 2; i++) {
        kiln_plan *plan = make_plan(ctx, i == 0 ? "twice" : "grow", x, y, N);
        size_t bytes = kiln_plan_workspace(plan);

        assert_true(bytes >= N * sizeof(float) && bytes <= BYTES);
        refuse(plan, NULL, NULL, "workspace is NULL");
        refuse(plan, NULL, workspace + 128, "workspace is not aligned");
        memset(workspace, 0xff, sizeof workspace);
        assert_int_equal(kiln_plan_enqueue(plan, NULL, workspace, NULL),
                         KILN_OK);
        for (int j = 0; j < N; j++) {
            assert_true(y[j] == (i == 0 ? 4 : 2) * x[j]);
        }
        for (size_t j = bytes; j < sizeof workspace; j++) {
            assert_int_equal(workspace[j], 0xff);
        }
        kiln_plan_destroy(plan);
    }
    kiln_context_destroy(ctx);
}

static void test_run_in_one(void **state)
{
    kiln_context *ctx = make_context(NULL, 2);
    float x[2] = {1, 2}, y[2];
    int64_t n = 2;
    DLTensor tx = fixture_vector(x, KILN_F32, &n);
    DLTensor ty = fixture_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty};
    kiln_attr attr = {"alpha", KILN_ATTR_FLOAT, {.f = -3.0}};

    (void)state;
    assert_int_equal(kiln_run(ctx, "twice", tensors, 2, &attr, 1, NULL),
                     KILN_OK);
    assert_true(y[0] == 9 && y[1] == 18);
    assert_int_equal(kiln_run(ctx, "twice", tensors, 2, &attr, 1, x),
                     KILN_INVALID_ARGUMENT);
    assert_int_equal(kiln_run(NULL, "twice", tensors, 2, &attr, 1, NULL),
                     KILN_INVALID_ARGUMENT);
    tx.data = NULL;
    assert_int_equal(kiln_run(ctx, "twice", tensors, 2, &attr, 1, NULL),
                     KILN_INVALID_ARGUMENT);
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
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_replaced_pointers),
        cmocka_unit_test(test_byte_offset),
        cmocka_unit_test(test_alignment_class),
        cmocka_unit_test(test_optional_tensor),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_run_in_one),
    };

    return cmocka_run_group_tests_name("run", tests, init, NULL);
}
