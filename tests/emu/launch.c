#define _GNU_SOURCE
/* A launch: blocks one by one, or cluster by cluster. */
#include "state.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "san.h"

#define SHARED_ALIGN ((size_t)1024)
/* Behind shared memory, where no AddressSanitizer watches its end. */
#define GUARD_BYTES ((size_t)64)
#define GUARD 0xa5
#define MIN_ARGS ((size_t)24)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- shared memory -------------------------------------------------------- */

#ifdef KILN_EMU_TSAN

/* ThreadSanitizer: memory that was not used before in this epoch, so that the
 * accesses of earlier blocks do not count. */
#define ARENA_BYTES ((size_t)512 << 20)
static unsigned char *arena;
static size_t arena_used;

static unsigned char *shared_new(size_t bytes)
{
    const size_t whole =
        (bytes + GUARD_BYTES + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
    unsigned char *shared = arena + arena_used;
    arena_used += whole;
    emu_san_fill(shared + bytes, GUARD, GUARD_BYTES);
    return shared;
}

static bool arena_open(void)
{
    if (!arena) {
        void *memory = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        arena = memory == MAP_FAILED ? NULL : memory;
    }
    arena_used = 0;
    return arena != NULL;
}

static bool arena_is_short(void)
{
    const size_t block = emu_the.job->shared_bytes + 2 * SHARED_ALIGN;
    return ARENA_BYTES - arena_used < block * emu_the.job->cluster;
}

#else

static unsigned char *shared_new(size_t bytes)
{
    void *shared = NULL;
#ifdef KILN_EMU_ASAN
    return posix_memalign(&shared, SHARED_ALIGN, bytes) ? NULL : shared;
#else
    if (posix_memalign(&shared, SHARED_ALIGN, bytes + GUARD_BYTES)) {
        return NULL;
    }
    memset((unsigned char *)shared + bytes, GUARD, GUARD_BYTES);
    return shared;
#endif
}

#endif

/* The bytes behind shared memory are as they were. */
static bool guard_holds(const emu_block *block)
{
#ifndef KILN_EMU_ASAN
    const unsigned char *end = block->place.shared + emu_the.job->shared_bytes;
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (end[i] != GUARD) {
            return false;
        }
    }
#endif
    (void)block;
    return true;
}

/* --- a block ---------------------------------------------------------------
 */

/* Threads and their stacks, kept for the next launch. */
static bool make_threads(emu_block *block, uint32_t threads)
{
    if (!block->threads) {
        block->threads = calloc(EMU_MAX_THREADS, sizeof block->threads[0]);
        block->fibers = calloc(EMU_MAX_THREADS, sizeof block->fibers[0]);
    }
    if (!block->threads || !block->fibers) {
        return false;
    }
    while (block->n_fibers < threads) {
        if (!emu_fiber_make(&block->fibers[block->n_fibers])) {
            return false;
        }
        block->n_fibers++;
    }
    return true;
}

static bool open_block(emu_block *block, uint32_t rank)
{
    const emu_job *job = emu_the.job;
    if (!make_threads(block, job->threads)) {
        emu_say("kernel %s: no memory for %u stacks", job->kernel,
                job->threads);
        return false;
    }
    block->place = (emu_place){.grid_dim = {(uint32_t)job->grid, 1, 1},
                               .block_dim = {job->threads, 1, 1},
                               .rank = rank,
                               .ranks = job->cluster};
    block->rotate = 0;
#ifndef KILN_EMU_TSAN
    block->place.shared = shared_new(job->shared_bytes);
    if (!block->place.shared) {
        emu_say("kernel %s: no memory for shared memory", job->kernel);
        return false;
    }
#endif
    return true;
}

static void close_block(emu_block *block)
{
#ifndef KILN_EMU_TSAN
    if (block->place.shared) {
        emu_san_landed(block->place.shared, emu_the.job->shared_bytes / 8 * 8);
    }
    free(block->place.shared);
#endif
    block->place.shared = NULL;
    for (uint32_t f = 0; emu_the.failed && f < block->n_fibers; f++) {
        emu_fiber_clean(&block->fibers[f]);
    }
}

static void begin_warp(emu_warp_state *warp, uint32_t lanes)
{
    const uint32_t all = lanes == EMU_LANES ? ~0u : (1u << lanes) - 1u;
    warp->live = all;
    warp->fresh = all;
    warp->ready = all;
    warp->yields = 0;
    warp->meeting = 0;
}

static void begin_thread(emu_block *block, uint32_t t)
{
    emu_thread *thread = &block->threads[t];
    thread->view.thread_index = (emu_dim){t, 0, 0};
    thread->view.place = &block->place;
    thread->block = block;
    thread->id = t;
    thread->warp = t / EMU_LANES;
    thread->lane = t % EMU_LANES;
    thread->why = EMU_RUNS;
    thread->line = 0;
    thread->in_cluster = false;
    thread->copies.n = 0;
    thread->stores.n = 0;
}

static void begin_barriers(emu_block *block)
{
    for (uint32_t id = 0; block->active >> id; id++) {
        if (block->active >> id & 1u) {
            block->bars[id] = (emu_bar){.phase = block->bars[id].phase};
        }
    }
    block->active = 0;
}

static void begin_block(emu_block *block, uint64_t index)
{
    const uint32_t n = emu_the.job->threads;
    const uint32_t warps = (n + EMU_LANES - 1) / EMU_LANES;
    block->place.block_index = (emu_dim){(uint32_t)index, 0, 0};
    for (uint32_t w = 0; w < EMU_MAX_WARPS; w++) {
        const uint32_t left = w < warps ? n - w * EMU_LANES : 0;
        begin_warp(&block->warps[w], left < EMU_LANES ? left : EMU_LANES);
    }
    for (uint32_t t = 0; t < n; t++) {
        begin_thread(block, t);
    }
    begin_barriers(block);
    block->live_warps = warps == 32 ? ~0u : (1u << warps) - 1u;
    block->ready_warps = block->live_warps;
    block->warp = emu_the.job->thread_order == EMU_REVERSE ? warps - 1 : 0;
#ifdef KILN_EMU_TSAN
    block->place.shared = shared_new(emu_the.job->shared_bytes);
    block->rotate = (block->rotate + 1) % n;
#endif
    emu_san_fill(block->place.shared, EMU_POISON, emu_the.job->shared_bytes);
    emu_the.stats.blocks++;
    emu_the.stats.threads += n;
}

/* --- the grid --------------------------------------------------------------
 */

/* What happened before is seen by every thread from now on. */
static void begin_epoch(void)
{
    emu_san_acquire(&emu_the.done);
    emu_san_release(&emu_the.begun);
    emu_the.epoch++;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Near n / golden ratio, and without a common divisor with n. */
static uint64_t stride_of(uint64_t n)
{
    uint64_t stride = n * 5 / 8 + 1;
    while (gcd(stride, n) != 1) {
        stride++;
    }
    return stride % n ? stride % n : 1;
}

static uint64_t place_of(uint64_t i, uint64_t n, uint64_t stride)
{
    switch (emu_the.job->block_order) {
    case EMU_REVERSE:
        return n - 1 - i;
    case EMU_STRIDED:
        return i * stride % n; /* both below 2^31 */
    case EMU_FORWARD:
        break;
    }
    return i;
}

static void after_cluster(uint64_t first)
{
    const emu_job *job = emu_the.job;
    const char *left = emu_bulk_left();
    if (!emu_the.failed && left) {
        emu_say("kernel %s, block %u: %s", job->kernel, (unsigned)first, left);
    }
    for (uint32_t r = 0; !emu_the.failed && r < job->cluster; r++) {
        if (!guard_holds(&emu_the.blocks[r])) {
            emu_say("kernel %s, block %u: wrote past the end of its %zu bytes "
                    "of shared memory",
                    job->kernel, (unsigned)first + r, job->shared_bytes);
        }
    }
}

static void run_cluster(uint64_t first)
{
    const emu_job *job = emu_the.job;
#ifdef KILN_EMU_TSAN
    if (arena_is_short()) {
        arena_used = 0;
        begin_epoch();
    }
#endif
    for (uint32_t r = 0; r < job->cluster; r++) {
        begin_block(&emu_the.blocks[r], first + r);
    }
    emu_the.at = job->thread_order == EMU_REVERSE ? job->cluster - 1 : 0;
    emu_the.live = job->cluster * job->threads;
    emu_the.cluster_arrived = 0;
    emu_the.cluster_phase = 0;
    emu_the.spins = 0;
    emu_run_cluster();
    after_cluster(first);
    emu_bulk_begin();
}

static void run_grid(void)
{
    const emu_job *job = emu_the.job;
    const uint64_t n = job->grid / job->cluster;
    const uint64_t stride = stride_of(n);
    for (uint64_t i = 0; i < n && !emu_the.failed; i++) {
        run_cluster(place_of(i, n, stride) * job->cluster);
    }
    const unsigned races = emu_report_races();
    if (races && !emu_the.failed) {
        emu_say("kernel %s: ThreadSanitizer found %u races", job->kernel,
                races);
    }
}

static bool job_is_sound(const emu_job *job)
{
    if (job->threads == 0 || job->threads > EMU_MAX_THREADS ||
        job->cluster == 0 || job->cluster > EMU_MAX_CLUSTER || job->grid == 0 ||
        job->grid > INT32_MAX || job->grid % job->cluster) {
        emu_say("kernel %s: grid %llu, threads %u, cluster %u: no launch",
                job->kernel, (unsigned long long)job->grid, job->threads,
                job->cluster);
        return false;
    }
    if (job->arg_bytes < MIN_ARGS || job->arg_bytes % 8) {
        emu_say("kernel %s: %zu bytes of arguments; %zu or more are passed in "
                "memory",
                job->kernel, job->arg_bytes, MIN_ARGS);
        return false;
    }
    return true;
}

static void launch(void)
{
    const emu_job *job = emu_the.job;
    bool open = true;
#ifdef KILN_EMU_TSAN
    if (!arena_open()) {
        emu_say("no memory for shared memory");
        return;
    }
#endif
    for (uint32_t r = 0; open && r < job->cluster; r++) {
        open = open_block(&emu_the.blocks[r], r);
    }
    if (open) {
        emu_fiber_adopt(&emu_the.main);
        begin_epoch();
        run_grid();
        emu_san_acquire(&emu_the.done);
    }
    for (uint32_t r = 0; r < job->cluster; r++) {
        close_block(&emu_the.blocks[r]);
    }
}

bool emu_run(const emu_job *job, char *text, size_t cap)
{
    assert(cap > 0);
    pthread_mutex_lock(&lock);
    text[0] = '\0';
    emu_the.job = job;
    emu_the.text = text;
    emu_the.cap = cap;
    emu_the.failed = false;
    emu_the.self = NULL;
    emu_report_install();
    if (job_is_sound(job)) {
        launch();
    }
    emu_the.job = NULL;
    const bool ok = !emu_the.failed;
    pthread_mutex_unlock(&lock);
    return ok;
}

emu_stats emu_get_stats(void)
{
    pthread_mutex_lock(&lock);
    const emu_stats stats = emu_the.stats;
    pthread_mutex_unlock(&lock);
    return stats;
}
