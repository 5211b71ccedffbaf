/* sources: runtime/cpu/pool.c */
/* libs: -Wl,--wrap=pthread_create */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cpu/pool.h"

/* Threads that the system will still start; negative: any number. */
static atomic_int threads_left = -1;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*start)(void *), void *arg)
{
    if (atomic_load(&threads_left) == 0) {
        return 11; /* EAGAIN */
    }
    if (atomic_load(&threads_left) > 0) {
        atomic_fetch_sub(&threads_left, 1);
    }
    return __real_pthread_create(thread, attr, start, arg);
}

#define MAX_UNITS 5000

typedef struct tally {
    atomic_int done[MAX_UNITS];
    _Atomic int64_t total;
    _Atomic int64_t shortest; /* of the ranges that do not end the work */
    atomic_int calls;
    int64_t units;
} tally;

static tally *fresh_tally(int64_t units)
{
    static tally counts;

    memset(&counts, 0, sizeof counts);
    atomic_init(&counts.shortest, INT64_MAX);
    counts.units = units;
    return &counts;
}

static void count(void *arg, int64_t first, int64_t last)
{
    tally *t = arg;
    int64_t shortest = atomic_load(&t->shortest);

    atomic_fetch_add(&t->calls, 1);
    atomic_fetch_add(&t->total, last - first);
    while (
        last != t->units && last - first < shortest &&
        !atomic_compare_exchange_weak(&t->shortest, &shortest, last - first)) {
    }
    for (int64_t i = first; i < last && i < MAX_UNITS; i++) {
        atomic_fetch_add_explicit(&t->done[i], 1, memory_order_relaxed);
    }
}

static void check_run(kiln_pool *pool, int64_t units, int64_t grain)
{
    tally *t = fresh_tally(units);

    kiln_pool_run(pool, count, t, units, grain);
    assert_int_equal(atomic_load(&t->total), units);
    assert_true(atomic_load(&t->shortest) >= grain);
    for (int64_t i = 0; i < units && i < MAX_UNITS; i++) {
        assert_int_equal(atomic_load(&t->done[i]), 1);
    }
}

static void test_every_unit_once(void **state)
{
    static const int threads[] = {1, 2, 3, 8};
    static const int64_t units[] = {0, 1, 2, 7, 64, 1000, MAX_UNITS};
    static const int64_t grains[] = {1, 3, 64, 999, 100000};

    (void)state;
    for (size_t t = 0; t < 4; t++) {
        kiln_pool pool;

        assert_true(kiln_pool_init(&pool, threads[t], threads[t] == 2));
        for (size_t u = 0; u < 7; u++) {
            for (size_t g = 0; g < 5; g++) {
                check_run(&pool, units[u], grains[g]);
            }
        }
        assert_true(pool.n_workers == threads[t] - 1);
        kiln_pool_destroy(&pool);
    }
}

static void add_length(void *arg, int64_t first, int64_t last)
{
    assert_true(first >= 0 && last > first);
    atomic_fetch_add((_Atomic int64_t *)arg, last - first);
}

/* Chunk arithmetic must not wrap at the end of int64. */
static void test_largest_counts(void **state)
{
    static const int64_t units[] = {INT64_MAX, INT64_MAX - 1, INT64_C(1) << 62};
    static const int64_t grains[] = {1, INT64_MAX / 2, INT64_MAX - 1};
    kiln_pool pool;

    (void)state;
    assert_true(kiln_pool_init(&pool, 3, false));
    for (size_t u = 0; u < 3; u++) {
        for (size_t g = 0; g < 3; g++) {
            _Atomic int64_t total = 0;

            kiln_pool_run(&pool, add_length, &total, units[u], grains[g]);
            assert_true(atomic_load(&total) == units[u]);
        }
    }
    kiln_pool_destroy(&pool);
}

/* Runs inline: one call over everything, and no thread is ever started. */
static void test_small_work_is_inline(void **state)
{
    kiln_pool pool;
    tally *t = fresh_tally(100);

    (void)state;
    assert_true(kiln_pool_init(&pool, 4, true));
    kiln_pool_run(&pool, count, t, 100, 100);
    assert_int_equal(atomic_load(&t->calls), 1);
    assert_false(pool.started);
    kiln_pool_destroy(&pool);
}

/* Many jobs in a row, then pauses long enough for the workers to sleep. */
static void test_many_jobs(void **state)
{
    const struct timespec nap = {0, 300000};

    (void)state;
    for (int spin = 0; spin < 2; spin++) {
        kiln_pool pool;

        assert_true(kiln_pool_init(&pool, 3, spin != 0));
        for (int i = 0; i < 3000; i++) {
            check_run(&pool, 1 + i % 40, 1);
        }
        for (int i = 0; i < 200; i++) {
            nanosleep(&nap, NULL);
            check_run(&pool, 24, 1);
        }
        kiln_pool_destroy(&pool);
    }
}

typedef struct caller {
    kiln_pool *pool;
    pthread_barrier_t *start;
    int64_t sum;
} caller;

/* Sums squares, slowly enough for calls to meet. */
static void add_squares(void *arg, int64_t first, int64_t last)
{
    int64_t sum = 0;

    for (int64_t i = first; i < last; i++) {
        sum += i * i;
    }
    atomic_fetch_add((_Atomic int64_t *)arg, sum);
}

static void *call_often(void *arg)
{
    caller *c = arg;

    pthread_barrier_wait(c->start);
    for (int i = 0; i < 300; i++) {
        _Atomic int64_t sum = 0;

        kiln_pool_run(c->pool, add_squares, &sum, 1000, 10);
        c->sum += atomic_load(&sum);
    }
    return NULL;
}

static void test_concurrent_callers(void **state)
{
    enum { CALLERS = 8 };
    pthread_t threads[CALLERS];
    caller callers[CALLERS];
    pthread_barrier_t start;
    kiln_pool pool;

    (void)state;
    assert_true(kiln_pool_init(&pool, 3, false));
    pthread_barrier_init(&start, NULL, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){&pool, &start, 0};
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        /* sum of i^2 for i < 1000 is 999 * 1000 * 1999 / 6 */
        assert_int_equal(callers[i].sum, INT64_C(300) * 332833500);
    }
    pthread_barrier_destroy(&start);
    kiln_pool_destroy(&pool);
}

typedef struct meeting {
    pthread_t owner;
    atomic_int arrived;
    atomic_bool named;
    atomic_bool deaf;
} meeting;

/* Two units that can only end together, so that a worker does one. */
static void meet(void *arg, int64_t first, int64_t last)
{
    meeting *m = arg;

    assert_int_equal(last - first, 1);
    if (!pthread_equal(pthread_self(), m->owner)) {
        char name[16] = "";
        sigset_t mask;

        pthread_getname_np(pthread_self(), name, sizeof name);
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        atomic_store(&m->named, strcmp(name, "kiln") == 0);
        atomic_store(&m->deaf, sigismember(&mask, SIGTERM) == 1 &&
                                   sigismember(&mask, SIGUSR1) == 1);
    }
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < 2) {
        sched_yield();
    }
}

static void test_workers_take_part(void **state)
{
    sigset_t before, after;
    kiln_pool pool;

    (void)state;
    sigprocmask(SIG_SETMASK, NULL, &before);
    assert_true(kiln_pool_init(&pool, 2, true));
    for (int i = 0; i < 200; i++) {
        meeting m = {.owner = pthread_self()};

        kiln_pool_run(&pool, meet, &m, 2, 1);
        assert_true(atomic_load(&m.named));
        assert_true(atomic_load(&m.deaf));
    }
    kiln_pool_destroy(&pool);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int s = 1; s < 32; s++) {
        assert_int_equal(sigismember(&before, s), sigismember(&after, s));
    }
}

/* Whatever number of threads the system grants, the work is done. */
static void test_refused_threads(void **state)
{
    (void)state;
    for (int granted = 0; granted <= 4; granted++) {
        kiln_pool pool;

        assert_true(kiln_pool_init(&pool, 4, false));
        atomic_store(&threads_left, granted);
        check_run(&pool, 1000, 1);
        check_run(&pool, 1000, 10);
        assert_int_equal(pool.n_workers, granted < 3 ? granted : 3);
        atomic_store(&threads_left, -1);
        kiln_pool_destroy(&pool);
    }
}

static void test_start(void **state)
{
    kiln_pool pool;

    (void)state;
    assert_true(kiln_pool_init(&pool, 3, false));
    kiln_pool_start(&pool);
    kiln_pool_start(&pool);
    assert_int_equal(pool.n_workers, 2);
    check_run(&pool, 500, 1);
    kiln_pool_destroy(&pool);

    assert_true(kiln_pool_init(&pool, 1, false));
    kiln_pool_start(&pool);
    assert_int_equal(pool.n_workers, 0);
    kiln_pool_destroy(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_unit_once),
        cmocka_unit_test(test_largest_counts),
        cmocka_unit_test(test_small_work_is_inline),
        cmocka_unit_test(test_many_jobs),
        cmocka_unit_test(test_concurrent_callers),
        cmocka_unit_test(test_workers_take_part),
        cmocka_unit_test(test_refused_threads),
        cmocka_unit_test(test_start),
    };

    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
