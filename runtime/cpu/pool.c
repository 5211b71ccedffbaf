#define _GNU_SOURCE
#include "pool.h"

#include <assert.h>
#include <signal.h>
#include <time.h>

/* kiln_pool.state holds how many workers are in the job (low bits), whether
 * one may still enter it, whether the owner sleeps until all have left,
 * whether the pool is ending, and the job's number. A worker enters by one
 * compare-and-swap that sees the job open, so that one which wakes too late
 * finds it closed and is not waited for. */
#define INSIDE_MASK UINT64_C(0xffff)
#define OPEN (UINT64_C(1) << 16)
#define OWNER_SLEEPS (UINT64_C(1) << 17)
#define ENDING (UINT64_C(1) << 18)
#define NUMBER_SHIFT 20

#define CHUNKS_PER_THREAD 8
/* A worker looks for work this long before it sleeps: about what a wake-up
 * costs. */
#define SPIN_NS 20000
#define PAUSES_PER_LOOK 16

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Takes chunks until none is left. */
static void work(kiln_pool *pool)
{
    const int64_t units = pool->units;
    const int64_t chunk = pool->chunk;
    const int64_t n = ceil_div(units, chunk);
    for (;;) {
        int64_t i =
            atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= n) {
            return;
        }
        int64_t first = i * chunk;
        int64_t left = units - first;
        pool->fn(pool->arg, first, first + (left < chunk ? left : chunk));
    }
}

/* --- workers -------------------------------------------------------------- */

/* Whether a worker that last saw job `seen` has something to do. */
static bool has_news(uint64_t state, uint64_t seen)
{
    return (state & ENDING) != 0 ||
           ((state & OPEN) != 0 && state >> NUMBER_SHIFT != seen);
}

static bool spin_for_news(kiln_pool *pool, uint64_t seen)
{
    const int64_t deadline = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (has_news(atomic_load(&pool->state), seen)) {
                return true;
            }
            pause_briefly();
        }
    } while (now_ns() < deadline);
    return false;
}

static void sleep_for_news(kiln_pool *pool, uint64_t seen)
{
    pthread_mutex_lock(&pool->lock);
    /* The owner first publishes, then looks for sleepers; we the other way
     * round, so that one of the two sees the other. */
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_news(atomic_load(&pool->state), seen)) {
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* Enters the open job: true, with its number in seen. */
static bool enter(kiln_pool *pool, uint64_t *seen)
{
    uint64_t state = atomic_load(&pool->state);
    while ((state & OPEN) != 0 && state >> NUMBER_SHIFT != *seen) {
        if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
            *seen = state >> NUMBER_SHIFT;
            return true;
        }
    }
    return false;
}

static void leave(kiln_pool *pool)
{
    uint64_t before = atomic_fetch_sub(&pool->state, 1);
    if ((before & INSIDE_MASK) == 1 && (before & OWNER_SLEEPS) != 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void *worker_main(void *arg)
{
    kiln_pool *pool = arg;
    uint64_t seen = 0;
    pthread_setname_np(pthread_self(), "kiln");
    for (;;) {
        if (!pool->spin || !spin_for_news(pool, seen)) {
            sleep_for_news(pool, seen);
        }
        if ((atomic_load(&pool->state) & ENDING) != 0) {
            return NULL;
        }
        if (enter(pool, &seen)) {
            work(pool);
            leave(pool);
        }
    }
}

/* --- the owner ------------------------------------------------------------ */

static bool own(kiln_pool *pool)
{
    return !atomic_load_explicit(&pool->owned, memory_order_relaxed) &&
           !atomic_exchange_explicit(&pool->owned, true, memory_order_acquire);
}

static void disown(kiln_pool *pool)
{
    atomic_store_explicit(&pool->owned, false, memory_order_release);
}

/* Workers take no signal that is meant for the program. */
static void start_workers(kiln_pool *pool)
{
    sigset_t all;
    sigset_t old;
    pool->started = true;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) {
        return;
    }
    while (pool->n_workers < pool->threads - 1 &&
           pthread_create(&pool->workers[pool->n_workers], NULL, worker_main,
                          pool) == 0) {
        pool->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void wake_workers(kiln_pool *pool, int64_t wanted)
{
    int64_t sleepers = atomic_load(&pool->sleepers);
    if (sleepers == 0) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pthread_mutex_unlock(&pool->lock);
    if (wanted >= sleepers) {
        pthread_cond_broadcast(&pool->wake);
        return;
    }
    for (int64_t i = 0; i < wanted; i++) {
        pthread_cond_signal(&pool->wake);
    }
}

static void open_job(kiln_pool *pool, kiln_pool_fn *fn, void *arg,
                     int64_t units, int64_t chunk)
{
    uint64_t number = (atomic_load(&pool->state) >> NUMBER_SHIFT) + 1;
    pool->fn = fn;
    pool->arg = arg;
    pool->units = units;
    pool->chunk = chunk;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store(&pool->state, number << NUMBER_SHIFT | OPEN);
}

/* Returns when no worker is in the job, so that its memory may go. */
static void close_job(kiln_pool *pool)
{
    uint64_t state = atomic_fetch_and(&pool->state, ~OPEN);
    if ((state & INSIDE_MASK) == 0) {
        return;
    }
    const int64_t deadline = now_ns() + SPIN_NS;
    while (pool->spin && now_ns() < deadline) {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if ((atomic_load(&pool->state) & INSIDE_MASK) == 0) {
                return;
            }
            pause_briefly();
        }
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_or(&pool->state, OWNER_SLEEPS);
    while ((atomic_load(&pool->state) & INSIDE_MASK) != 0) {
        pthread_cond_wait(&pool->idle, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

static int64_t chunk_of(const kiln_pool *pool, int64_t units, int64_t grain)
{
    int64_t parts = (int64_t)(pool->n_workers + 1) * CHUNKS_PER_THREAD;
    int64_t even = ceil_div(units, parts);
    return even > grain ? even : grain;
}

void kiln_pool_run(kiln_pool *pool, kiln_pool_fn *fn, void *arg, int64_t units,
                   int64_t grain)
{
    assert(units >= 0 && grain >= 1);
    if (units == 0) {
        return;
    }
    if (units <= grain || pool->threads < 2 || !own(pool)) {
        fn(arg, 0, units);
        return;
    }
    if (!pool->started) {
        start_workers(pool);
    }
    if (pool->n_workers == 0) {
        disown(pool);
        fn(arg, 0, units);
        return;
    }
    int64_t chunk = chunk_of(pool, units, grain);
    open_job(pool, fn, arg, units, chunk);
    wake_workers(pool, ceil_div(units, chunk) - 1);
    work(pool);
    close_job(pool);
    disown(pool);
}

void kiln_pool_start(kiln_pool *pool)
{
    if (pool->threads > 1 && own(pool)) {
        if (!pool->started) {
            start_workers(pool);
        }
        disown(pool);
    }
}

bool kiln_pool_init(kiln_pool *pool, int threads, bool spin)
{
    assert(threads >= 1 && threads <= KILN_MAX_THREADS);
    pool->threads = threads;
    pool->n_workers = 0;
    pool->started = false;
    pool->spin = spin;
    atomic_init(&pool->owned, false);
    atomic_init(&pool->state, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->next, 0);
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&pool->wake, NULL) != 0) {
        goto no_wake;
    }
    if (pthread_cond_init(&pool->idle, NULL) != 0) {
        goto no_idle;
    }
    return true;

no_idle:
    pthread_cond_destroy(&pool->wake);
no_wake:
    pthread_mutex_destroy(&pool->lock);
    return false;
}

void kiln_pool_destroy(kiln_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_or(&pool->state, ENDING);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->n_workers; i++) {
        pthread_join(pool->workers[i], NULL);
    }
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
}
