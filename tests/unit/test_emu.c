/* sources: tests/emu/ */
/* libs: -rdynamic -ldl */
/* The engine of the CPU harness, by kernels written in C: what it refuses, and
 * that every block and thread runs once in every order. Its device header and
 * sanitizers are tested by tests/emu_test.sh. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emu/calls.h"
#include "emu/emu.h"

#define LINE 77

typedef struct slots {
    uint32_t *words;
    int64_t n;
    int64_t what;
} slots;

typedef void kernel(slots arg);

static bool run_job(emu_job job, kernel *entry, slots arg, char *text)
{
    union {
        kernel *kernel;
        void (*entry)(void);
    } as = {entry};
    job.kernel = job.kernel ? job.kernel : "k";
    job.entry = as.entry;
    job.args = &arg;
    job.arg_bytes = job.arg_bytes ? job.arg_bytes : sizeof arg;
    job.cluster = job.cluster ? job.cluster : 1;
    return emu_run(&job, text, EMU_TEXT);
}

/* It fails, and says that. */
static void refused(emu_job job, kernel *entry, slots arg, const char *said)
{
    char text[EMU_TEXT];
    assert_false(run_job(job, entry, arg, text));
    if (!strstr(text, said)) {
        fail_msg("said %s, not %s", text, said);
    }
}

static void runs(emu_job job, kernel *entry, slots arg)
{
    char text[EMU_TEXT];
    if (!run_job(job, entry, arg, text)) {
        fail_msg("%s", text);
    }
}

/* --- every thread once -----------------------------------------------------
 */

static void count(slots arg)
{
    const emu_place *place = emu_now->place;
    const uint32_t at =
        place->block_index.x * (uint32_t)arg.n + emu_now->thread_index.x;
    arg.words[at]++;
    emu_barrier(0, 0, LINE);
    arg.words[at]++;
}

static void each_thread_runs_once(void **state)
{
    static const uint32_t grids[] = {1, 2, 3, 8, 97, 360};
    static uint32_t words[360 * 70];
    (void)state;
    for (int order = 0; order < 9 * 6; order++) {
        const uint32_t grid = grids[order / 9];
        const emu_job job = {.grid = grid,
                             .threads = 70,
                             .block_order = (emu_order)(order % 3),
                             .thread_order = (emu_order)(order / 3 % 3)};
        memset(words, 0, sizeof words);
        runs(job, count, (slots){words, 70, 0});
        for (uint32_t i = 0; i < 360 * 70; i++) {
            assert_int_equal(words[i], i < grid * 70 ? 2 : 0);
        }
    }
}

/* The first block and thread to run leave their numbers. */
static void who_is_first(slots arg)
{
    if (arg.words[0] == UINT32_MAX) {
        arg.words[0] = emu_now->place->block_index.x;
        arg.words[1] = emu_now->thread_index.x;
    }
}

static void orders_differ(void **state)
{
    uint32_t words[2] = {UINT32_MAX, 0};
    emu_job job = {.grid = 10, .threads = 64};
    (void)state;
    runs(job, who_is_first, (slots){words, 0, 0});
    assert_int_equal(words[0], 0);
    assert_int_equal(words[1], 0);
    words[0] = UINT32_MAX;
    job.block_order = EMU_REVERSE;
    job.thread_order = EMU_REVERSE;
    runs(job, who_is_first, (slots){words, 0, 0});
    assert_int_equal(words[0], 9);
    assert_int_equal(words[1], 63);
}

/* Blocks are numbered by 32 bits unsigned up to CUDA's limit. */
static void many_blocks(void **state)
{
    const emu_stats before = emu_get_stats();
    static uint32_t words[300000];
    (void)state;
    memset(words, 0, sizeof words);
    runs((emu_job){.grid = 300000, .threads = 1}, count, (slots){words, 1, 0});
    for (int i = 0; i < 300000; i++) {
        assert_int_equal(words[i], 2);
    }
    assert_int_equal(emu_get_stats().blocks - before.blocks, 300000);
}

/* --- launches --------------------------------------------------------------
 */

static void nothing(slots arg)
{
    (void)arg;
}

static void bad_launches(void **state)
{
    const slots arg = {NULL, 0, 0};
    (void)state;
    refused((emu_job){.grid = 0, .threads = 1}, nothing, arg, "grid 0");
    refused((emu_job){.grid = 1, .threads = 0}, nothing, arg, "threads 0");
    refused((emu_job){.grid = 1, .threads = 1025}, nothing, arg,
            "threads 1025");
    refused((emu_job){.grid = UINT64_C(1) << 31, .threads = 1}, nothing, arg,
            "grid 2147483648");
    refused((emu_job){.grid = 3, .threads = 1, .cluster = 2}, nothing, arg,
            "cluster 2");
    refused((emu_job){.grid = 17, .threads = 1, .cluster = 17}, nothing, arg,
            "cluster 17");
    refused((emu_job){.grid = 1, .threads = 1, .arg_bytes = 16}, nothing, arg,
            "16 bytes of arguments");
    runs((emu_job){.grid = 1, .threads = 1024}, nothing, arg);
    runs((emu_job){.grid = 16, .threads = 8, .cluster = 16}, nothing, arg);
}

/* --- what threads may not do ------------------------------------------------
 */

enum {
    BAD_BARRIER_ID,
    BAD_BARRIER_COUNT,
    ARRIVE_WITHOUT_COUNT,
    ARRIVE_TWICE,
    TWO_ARRIVES,
    WAIT_ALONE,
    END_IN_CLUSTER,
    BAD_RANK,
    FOREIGN_ADDRESS,
    COPY_SIZE,
    COPY_MISALIGNED,
    COPY_OUTSIDE,
    BULK_SIZE,
    BULK_OUTSIDE,
    BULK_WITHOUT_MBARRIER,
    MBARRIER_OUTSIDE,
    MBARRIER_UNKNOWN,
    MBARRIER_ARRIVALS,
    POLL_FOR_EVER,
    BAD_THINGS
};

static void bad_barrier(int64_t what)
{
    switch (what) {
    case BAD_BARRIER_ID:
        emu_barrier(16, 0, LINE);
        break;
    case BAD_BARRIER_COUNT:
        emu_barrier(1, 40, LINE);
        break;
    case ARRIVE_WITHOUT_COUNT:
        emu_barrier_arrive(1, 0, LINE);
        break;
    case ARRIVE_TWICE:
        emu_barrier_arrive(1, 64, LINE);
        emu_barrier_arrive(1, 64, LINE);
        break;
    case POLL_FOR_EVER:
        for (;;) {
            emu_yield(LINE);
        }
    default:
        break;
    }
}

static void bad_cluster(int64_t what, const slots *arg)
{
    switch (what) {
    case TWO_ARRIVES:
        emu_cluster_arrive(1, LINE);
        emu_cluster_arrive(1, LINE);
        break;
    case WAIT_ALONE:
        emu_cluster_wait(LINE);
        break;
    case END_IN_CLUSTER:
        emu_cluster_arrive(1, LINE);
        break;
    case BAD_RANK:
        emu_cluster_map(emu_now->place->shared, 2, LINE);
        break;
    case FOREIGN_ADDRESS:
        emu_cluster_map(arg->words, 1, LINE);
        break;
    default:
        break;
    }
}

static void bad_copy(int64_t what, const slots *arg)
{
    unsigned char *shared = emu_now->place->shared;
    uint64_t *bar = (uint64_t *)(void *)(shared + 64);
    switch (what) {
    case COPY_SIZE:
        emu_copy(shared, arg->words, 12, 12, LINE);
        break;
    case COPY_MISALIGNED:
        emu_copy(shared + 4, arg->words, 8, 8, LINE);
        break;
    case COPY_OUTSIDE:
        emu_copy(shared + 128, arg->words, 16, 16, LINE);
        break;
    case BULK_SIZE:
        emu_bulk_load(shared, arg->words, 24, bar, LINE);
        break;
    case BULK_OUTSIDE:
        emu_bulk_store(arg->words, shared + 112, 32, LINE);
        break;
    case BULK_WITHOUT_MBARRIER:
        emu_bulk_load(shared, arg->words, 16, bar, LINE);
        break;
    case MBARRIER_OUTSIDE:
        emu_mbarrier_init(bar + 8, 1, LINE);
        break;
    case MBARRIER_UNKNOWN:
        emu_mbarrier_wait(bar, 0, LINE);
        break;
    default:
        emu_mbarrier_init(bar, 1, LINE);
        emu_mbarrier_arrive(bar, 16, LINE);
        emu_mbarrier_arrive(bar, 0, LINE);
        break;
    }
}

static void bad(slots arg)
{
    if (emu_now->thread_index.x == 0) {
        if (arg.what < TWO_ARRIVES || arg.what == POLL_FOR_EVER) {
            bad_barrier(arg.what);
        } else if (arg.what < COPY_SIZE) {
            bad_cluster(arg.what, &arg);
        } else {
            bad_copy(arg.what, &arg);
        }
    }
}

static void errors_name_kernel_thread_and_line(void **state)
{
    static const char *const said[BAD_THINGS] = {
        [BAD_BARRIER_ID] = "barrier 16: there are 16",
        [BAD_BARRIER_COUNT] = "40 threads are no number of warps",
        [ARRIVE_WITHOUT_COUNT] = "arrive needs a number",
        [ARRIVE_TWICE] = "has already arrived",
        [TWO_ARRIVES] = "a second arrive",
        [WAIT_ALONE] = "a wait without an arrive",
        [END_IN_CLUSTER] = "ended between arrive and wait",
        [BAD_RANK] = "block rank 2 in a cluster of 2",
        [FOREIGN_ADDRESS] = "outside of this block's shared memory",
        [COPY_SIZE] = "cp.async of 12 of 12 bytes",
        [COPY_MISALIGNED] = "misaligned",
        [COPY_OUTSIDE] = "target outside of shared memory",
        [BULK_SIZE] = "multiples of 16",
        [BULK_OUTSIDE] = "outside of shared memory",
        [BULK_WITHOUT_MBARRIER] = "not initialised",
        [MBARRIER_OUTSIDE] = "not 8 aligned bytes of shared memory",
        [MBARRIER_UNKNOWN] = "not initialised",
        [MBARRIER_ARRIVALS] = "more arrivals in a phase",
        [POLL_FOR_EVER] = "wait at line 77 for memory that it polls",
    };
    _Alignas(16) static uint32_t words[64];
    const emu_job job = {
        .grid = 4, .threads = 32, .cluster = 2, .shared_bytes = 128};
    (void)state;
    for (int64_t what = 0; what < BAD_THINGS; what++) {
        const char *where = what == POLL_FOR_EVER
                                ? "kernel k, block 0: deadlock"
                                : "kernel k, block 0, thread 0, line 77";
        refused(job, bad, (slots){words, 0, what}, said[what]);
        refused(job, bad, (slots){words, 0, what}, where);
    }
    /* A failed launch leaves nothing behind. */
    runs(job, nothing, (slots){words, 0, 0});
}

/* --- polling, and launches from several threads ------------------------------
 */

static void hand_over(slots arg)
{
    const uint32_t t = emu_now->thread_index.x;
    while (__atomic_load_n(arg.words, __ATOMIC_ACQUIRE) != 63 - t) {
        emu_yield(LINE);
    }
    __atomic_store_n(arg.words, 63 - t + 1, __ATOMIC_RELEASE);
}

static void polling_threads_let_others_run(void **state)
{
    uint32_t words[1] = {0};
    (void)state;
    runs((emu_job){.grid = 1, .threads = 64}, hand_over, (slots){words, 0, 0});
    assert_int_equal(words[0], 64);
}

static void *launch_often(void *words)
{
    for (int i = 0; i < 50; i++) {
        runs((emu_job){.grid = 4, .threads = 40}, count, (slots){words, 40, 0});
    }
    return NULL;
}

static void several_threads_take_turns(void **state)
{
    static uint32_t words[4][160];
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, launch_often, words[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        for (int w = 0; w < 160; w++) {
            assert_int_equal(words[i][w], 100);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_runs_once),
        cmocka_unit_test(orders_differ),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(bad_launches),
        cmocka_unit_test(errors_name_kernel_thread_and_line),
        cmocka_unit_test(polling_threads_let_others_run),
        cmocka_unit_test(several_threads_take_turns),
    };
    return cmocka_run_group_tests_name("emu", tests, NULL, NULL);
}
