/* pool.h: the threads of one context and the loop that they share. Results
 * never depend on how many there are or on which thread does what.
 */
#ifndef KILN_CPU_POOL_H
#define KILN_CPU_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KILN_MAX_THREADS 256
#define KILN_CACHE_LINE 64

/* Does units first .. last-1. */
typedef void kiln_pool_fn(void *arg, int64_t first, int64_t last);

typedef struct kiln_pool {
    int32_t threads;   /* wanted, with the caller */
    int32_t n_workers; /* started */
    bool started;      /* workers were asked for; written by the owner */
    bool spin;         /* as given to kiln_pool_init */
    atomic_bool owned; /* a caller is using the pool */
    pthread_t workers[KILN_MAX_THREADS];
    pthread_mutex_t lock; /* guards nothing but the two sleeps */
    pthread_cond_t wake;
    pthread_cond_t idle;
    /* The job. Written by the owner while no worker can be in it. */
    kiln_pool_fn *fn;
    void *arg;
    int64_t units;
    int64_t chunk;
    /* Each on a cache line of its own. */
    char pad0[KILN_CACHE_LINE];
    _Atomic uint64_t state; /* see pool.c */
    atomic_int sleepers;
    char pad1[KILN_CACHE_LINE];
    _Atomic int64_t next; /* first chunk not handed out */
    char pad2[KILN_CACHE_LINE];
} kiln_pool;

/* threads: with the caller, 1 .. KILN_MAX_THREADS. spin: idle workers look for
 * work a few microseconds before they sleep; false where threads share cores.
 * Starts none. false when the system refuses a lock. */
bool kiln_pool_init(kiln_pool *pool, int threads, bool spin);
/* Starts the workers, unless that was done. Those that the system refuses are
 * done without. */
void kiln_pool_start(kiln_pool *pool);
/* Calls fn for all of [0, units) in ranges of at least grain units (the last
 * may be shorter) and returns when all are done. The caller takes part. A
 * pool that is busy with another caller's work is not waited for: the call
 * then does all of its work itself. fn must not use the pool. */
void kiln_pool_run(kiln_pool *pool, kiln_pool_fn *fn, void *arg, int64_t units,
                   int64_t grain);
/* Ends the workers. No call may be in progress. */
void kiln_pool_destroy(kiln_pool *pool);

#endif /* KILN_CPU_POOL_H */
