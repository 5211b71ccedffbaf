/* sources: runtime/core/ tests/unit/fixture_tables.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture_tables.h"
#include "internal.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const DLDevice cpu = {kDLCPU, 0};

static kiln_context *make_context(int threads)
{
    kiln_options options = {
        .size = sizeof options, .isa = "base", .threads = threads};
    kiln_context *ctx = NULL;

    assert_int_equal(kiln_context_create(&ctx, cpu, &options), KILN_OK);
    return ctx;
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

/* --- threads -------------------------------------------------------------- */

#define LONG FIXTURE_SERVED

/* Bytes of scale and grow over LONG elements with so many threads. */
static void compute(int threads, const float *x, float *y)
{
    kiln_context *ctx = make_context(threads);
    float *copy = malloc(LONG * sizeof *copy);
    int64_t n = LONG;
    DLTensor tx = fixture_vector(copy, KILN_F32, &n);
    DLTensor ty = fixture_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty, NULL};
    kiln_attr attr = {"alpha", KILN_ATTR_FLOAT, {.f = 1.0 / 3}};

    memcpy(copy, x, LONG * sizeof *copy);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kiln_run(ctx, "scale", tensors, 3, &attr, 1, NULL),
                         KILN_OK);
        assert_int_equal(kiln_run(ctx, "grow", tensors, 2, NULL, 0, NULL),
                         KILN_OK);
    }
    free(copy);
    kiln_context_destroy(ctx);
}

static float *some_floats(void)
{
    float *x = malloc(LONG * sizeof *x);

    for (int i = 0; i < LONG; i++) {
        x[i] = (float)((i * 7919) % 10007) / 97.0f - 50.0f;
    }
    return x;
}

static void test_thread_counts(void **state)
{
    static const int threads[] = {2, 3, 8};
    float *x = some_floats();
    float *one = malloc(LONG * sizeof *one);
    float *many = malloc(LONG * sizeof *many);

    (void)state;
    compute(1, x, one);
    for (int i = 0; i < 3; i++) {
        memset(many, 0xff, LONG * sizeof *many);
        compute(threads[i], x, many);
        assert_memory_equal(one, many, LONG * sizeof *one);
    }
    free(x);
    free(one);
    free(many);
}

typedef struct user {
    const kiln_plan *plan;
    pthread_barrier_t *start;
    float *x;
    float *y;
    bool right;
} user;

static void *use_plan(void *arg)
{
    user *u = arg;
    void *data[] = {u->x, u->y, NULL};

    pthread_barrier_wait(u->start);
    u->right = true;
    for (int i = 0; i < 40; i++) {
        memset(u->y, 0xff, LONG * sizeof *u->y);
        if (kiln_plan_enqueue(u->plan, data, NULL, NULL) != KILN_OK) {
            u->right = false;
        }
        for (int j = 0; j < LONG; j++) {
            u->right = u->right && u->y[j] == 2 * u->x[j];
        }
        /* Each thread's error is its own. */
        if (kiln_plan_enqueue(u->plan, data, NULL, u->x) == KILN_OK ||
            strstr(kiln_last_error(), "stream") == NULL) {
            u->right = false;
        }
    }
    return NULL;
}

static void test_shared_plan(void **state)
{
    enum { USERS = 8 };
    kiln_context *ctx = make_context(3);
    float *x = some_floats();
    kiln_plan *plan = make_plan(ctx, "scale", NULL, NULL, LONG);
    pthread_barrier_t start;
    pthread_t threads[USERS];
    user users[USERS];

    (void)state;
    pthread_barrier_init(&start, NULL, USERS);
    for (int i = 0; i < USERS; i++) {
        users[i] = (user){plan, &start, x, malloc(LONG * sizeof *x), false};
        assert_int_equal(pthread_create(&threads[i], NULL, use_plan, &users[i]),
                         0);
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(users[i].right);
        free(users[i].y);
    }
    pthread_barrier_destroy(&start);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
    free(x);
}

/* 32 threads plan, prepare and run for the first time at once, half of them
 * on a second context. */
typedef struct newcomer {
    kiln_context *ctx;
    pthread_barrier_t *start;
    bool right;
} newcomer;

static void *first_use(void *arg)
{
    newcomer *c = arg;
    float x[1000], y[1000];
    int64_t n = 1000;
    DLTensor tx = fixture_vector(x, KILN_F32, &n);
    DLTensor ty = fixture_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty};

    for (int i = 0; i < 1000; i++) {
        x[i] = (float)i;
    }
    pthread_barrier_wait(c->start);
    c->right = kiln_run(c->ctx, "twice", tensors, 2, NULL, 0, NULL) == KILN_OK;
    for (int i = 0; i < 1000; i++) {
        c->right = c->right && y[i] == (float)(4 * i);
    }
    return NULL;
}

static void count_log(void *counter, const char *text)
{
    (void)text;
    atomic_fetch_add((atomic_int *)counter, 1);
}

static void test_first_use(void **state)
{
    enum { NEWCOMERS = 32 };
    pthread_t threads[NEWCOMERS];
    newcomer newcomers[NEWCOMERS];
    pthread_barrier_t start;

    (void)state;
    pthread_barrier_init(&start, NULL, NEWCOMERS);
    for (int round = 0; round < 10; round++) {
        atomic_int heard = 0;
        kiln_options options = {.size = sizeof options,
                                .threads = 4,
                                .log = count_log,
                                .log_user = &heard};
        kiln_context *contexts[2];

        for (int i = 0; i < 2; i++) {
            assert_int_equal(kiln_context_create(&contexts[i], cpu, &options),
                             KILN_OK);
        }
        for (int i = 0; i < NEWCOMERS; i++) {
            newcomers[i] = (newcomer){contexts[i % 2], &start, false};
            assert_int_equal(
                pthread_create(&threads[i], NULL, first_use, &newcomers[i]), 0);
        }
        for (int i = 0; i < NEWCOMERS; i++) {
            pthread_join(threads[i], NULL);
            assert_true(newcomers[i].right);
        }
        kiln_context_destroy(contexts[0]);
        kiln_context_destroy(contexts[1]);
        /* twice and scale, once a context. */
        assert_int_equal(atomic_load(&heard), 4);
    }
    pthread_barrier_destroy(&start);
}

/* The caller's floating-point modes change no result, and are kept. */
static void test_float_modes(void **state)
{
#if defined(__x86_64__)
    enum { ROUND_UP = 0x4000, FLUSH = 0x8040, MODES = 0xffc0 };
    kiln_context *ctx = make_context(2);
    float *x = some_floats();
    float *y = malloc(LONG * sizeof *y);
    float *z = malloc(LONG * sizeof *z);
    unsigned old = _mm_getcsr();

    (void)state;
    x[0] = 1e-40f; /* below the least normal float */
    x[LONG - 1] = 1e-41f;
    compute(2, x, y);
    _mm_setcsr(old | ROUND_UP | FLUSH);
    compute(2, x, z);
    assert_int_equal(_mm_getcsr() & MODES, (old | ROUND_UP | FLUSH) & MODES);
    _mm_setcsr(old);
    assert_memory_equal(y, z, LONG * sizeof *y);
    assert_true(y[0] > 0 && y[LONG - 1] > 0);
    free(x);
    free(y);
    free(z);
    kiln_context_destroy(ctx);
#else
    (void)state;
#endif
}

/* --- forks ---------------------------------------------------------------- */

/* What a child sees of its parent's objects: bits of the calls that went
 * wrong. */
static int misuse_after_fork(kiln_context *ctx, kiln_plan *plan)
{
    float x[4] = {1, 2, 3, 4}, y[4];
    int64_t n = 4;
    DLTensor tx = fixture_vector(x, KILN_F32, &n);
    DLTensor ty = fixture_vector(y, KILN_F32, &n);
    const DLTensor *tensors[] = {&tx, &ty, NULL};
    char text[256];
    kiln_cost cost = {.buffers = NULL};
    kiln_fault fault;
    kiln_plan *other;
    kiln_context *own;
    int wrong = 0;

    wrong |= kiln_plan_enqueue(plan, NULL, NULL, NULL) != KILN_FORKED;
    wrong |= (kiln_plan_prepare(plan, NULL) != KILN_FORKED) << 1;
    wrong |= (kiln_plan_cost(plan, &cost) != KILN_FORKED) << 2;
    wrong |= (kiln_plan_describe(plan, text, sizeof text) != KILN_FORKED) << 3;
    wrong |= (kiln_fault_check(ctx, &fault) != KILN_FORKED) << 4;
    wrong |= (kiln_plan_create(&other, ctx, "scale", tensors, 3, NULL, 0) !=
              KILN_FORKED)
             << 5;
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
    wrong |= (kiln_context_create(&own, cpu, NULL) != KILN_OK ||
              kiln_run(own, "scale", tensors, 3, NULL, 0, NULL) != KILN_OK ||
              y[3] != 8)
             << 6;
    return wrong;
}

static void check_fork(bool page)
{
    kiln_context *ctx = make_context(2);
    float *x = some_floats();
    float *y = malloc(LONG * sizeof *y);
    kiln_plan *plan;
    int status = -1;
    volatile int *alive = ctx->alive;
    pid_t child;

    ctx->alive = page ? alive : NULL;
    plan = make_plan(ctx, "scale", x, y, LONG);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL), KILN_OK);
    child = fork();
    if (child == 0) {
        alarm(20);
        _exit(misuse_after_fork(ctx, plan));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    memset(y, 0, LONG * sizeof *y);
    assert_int_equal(kiln_plan_enqueue(plan, NULL, NULL, NULL), KILN_OK);
    assert_true(y[LONG - 1] == 2 * x[LONG - 1]);
    kiln_plan_destroy(plan);
    ctx->alive = alive;
    kiln_context_destroy(ctx);
    free(x);
    free(y);
}

static void test_fork(void **state)
{
    (void)state;
    check_fork(true);
    check_fork(false); /* a system without such pages: by process id */
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
        cmocka_unit_test(test_thread_counts),
        cmocka_unit_test(test_shared_plan),
        cmocka_unit_test(test_first_use),
        cmocka_unit_test(test_float_modes),
        cmocka_unit_test(test_fork),
    };

    return cmocka_run_group_tests_name("threads", tests, init, NULL);
}
