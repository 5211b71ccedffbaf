/* sources: runtime/core/ tests/unit/certify_tables.c tests/certify/call.c
   tests/certify/contexts.c tests/certify/correct.c
   tests/certify/correct_cpu.c tests/certify/correct_cuda.c
   tests/certify/driver.c tests/certify/fill.c tests/certify/gpu.c
   tests/certify/guard.c tests/certify/journal.c tests/certify/json.c
   tests/certify/judge.c tests/certify/lines.c tests/certify/progress.c
   tests/certify/run.c tests/certify/sample.c tests/certify/table.c
   tests/certify/tier.c tests/certify/timing.c tests/certify/timing_cpu.c
   tests/certify/timing_cuda.c tests/certify/worker.c
   tests/certify/worklist.c tests/truth/ tests/emu/ tests/device/driver_emu.c
   runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c */
/* libs: -rdynamic -ldl */
/* The runner on CUDA devices, by the emulated driver: kernels of which all but
 * one are wrong, times, and runs in several processes. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../certify/run.h"
#include "../certify/timing.h"
#include "../certify/trial.h"
#include "certify_tables.h"
#include "emu/calls.h"
#include "emu/driver.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- kernels -------------------------------------------------------------- */

typedef struct tensor_arg {
    float *data;
    int64_t stride[KILN_MAX_RANK];
    int64_t row_stride;
} tensor_arg;

typedef struct map_arg {
    int64_t rank;
    int64_t size[KILN_MAX_RANK];
    int64_t row_size;
    tensor_arg x;
    tensor_arg y;
} map_arg;

static int64_t unit(void)
{
    return emu_now->place->block_index.x;
}

static bool is_last(void)
{
    return unit() + 1 == (int64_t)emu_now->place->grid_dim.x;
}

static float *at(const map_arg *a, const tensor_arg *t)
{
    int64_t row = unit() / a->row_size;
    int64_t place = unit() % a->row_size * t->row_stride;
    for (int64_t d = a->rank - 1; d >= 0; d--) {
        place += row % a->size[d] * t->stride[d];
        row /= a->size[d];
    }
    return t->data + place;
}

static float relu(float x)
{
    return x < 0 ? 0 : x;
}

/* Exported: the module is this program. */
#define KERNEL(name)                                                           \
    void cuda_##name(map_arg a);                                               \
    void cuda_##name(map_arg a)

static void right(const map_arg *a)
{
    *at(a, &a->y) = relu(*at(a, &a->x));
}

KERNEL(right)
{
    right(&a);
}

KERNEL(zeros)
{
    *at(&a, &a.y) = 0;
}

KERNEL(drops_tail)
{
    if (!is_last())
        right(&a);
}

KERNEL(writes_on)
{
    right(&a);
    if (is_last())
        at(&a, &a.y)[900] = 0;
}

KERNEL(writes_before)
{
    right(&a);
    if (unit() == 0)
        at(&a, &a.y)[-1] = 0;
}

KERNEL(reads_output)
{
    float old = *at(&a, &a.y);
    float x = relu(*at(&a, &a.x));
    *at(&a, &a.y) = isnan(old) || !(x > 0 && x < 1e30f) ? x : x * 1.5f;
}

KERNEL(writes_input)
{
    right(&a);
    if (*at(&a, &a.x) < 0)
        *at(&a, &a.x) = -1;
}

/* What it once computed there it gives again. */
KERNEL(remembers)
{
    static const float *known;
    static float answers[2000];
    float *answer = &answers[unit()];
    if (known != a.x.data)
        *answer = relu(*at(&a, &a.x));
    if (is_last())
        known = a.x.data;
    *at(&a, &a.y) = *answer;
}

/* Right twice: only what is replayed is wrong. */
KERNEL(tires)
{
    static const float *known;
    static int launches;
    if (unit() == 0)
        launches = known == a.x.data ? launches + 1 : 1;
    known = a.x.data;
    right(&a);
    if (launches > 2 && unit() == 0)
        *at(&a, &a.y) = 77;
}

KERNEL(crashes)
{
    right(&a);
    if (is_last())
        emu_refuse(1, "as asked");
}

KERNEL(aborts)
{
    right(&a);
    abort();
}

KERNEL(slow)
{
    struct timespec t = {0, 200000};
    if (unit() % 64 == 0)
        nanosleep(&t, NULL);
    right(&a);
}

/* --- correctness ---------------------------------------------------------- */

static char *calls[] = {(char[]){"relu x=f32[1] y=f32[1]"},
                        (char[]){"relu x=f32[1003]+1 y=f32[1003]+2"},
                        (char[]){"relu x=f32[5,17]:[20,1] y=f32[5,17]:[18,1]"},
                        (char[]){"relu x=f32[33]:[3] y=f32[33]:[2]"},
                        (char[]){"relu x=f32[] y=f32[]"},
                        (char[]){"relu x=f32[0,3] y=f32[0,3]"}};
enum { ELEMENTS = 1 + 1003 + 85 + 33 + 1 };

static char symbols[16][64], configs[16][64];

static work_kernel work(int i, const char *name)
{
    snprintf(symbols[i], sizeof symbols[i], "cuda_%s", name);
    snprintf(configs[i], sizeof configs[i], "is=%s", name);
    return (work_kernel){.tier = "sm90",
                         .isa = "-",
                         .symbol = symbols[i],
                         .hash = "0",
                         .op = "relu",
                         .config = configs[i],
                         .limits = "ulp=1;abs=;l2=",
                         .calls = calls,
                         .n_calls = COUNT(calls)};
}

static void assert_no_leaks(void)
{
    emu_held held = emu_driver_held();
    assert_int_equal(held.contexts, 0);
    assert_int_equal(held.modules, 0);
    assert_int_equal(held.streams, 0);
    assert_int_equal(held.allocations, 0);
}

static void test_judges(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"right", ""},
        {"zeros", "truth"},
        {"drops_tail", "truth"},
        {"writes_on", "stray write"},
        {"writes_before", "stray write"},
        {"reads_output", "repeat"},
        {"writes_input", "inputs"},
        {"remembers", "truth"},
        {"tires", "replay"},
        {"right", ""},
    };
    work_kernel kernels[COUNT(cases)];
    correct *c = correct_create();
    for (int i = 0; i < COUNT(cases); i++) {
        correct_result r;
        char note[1024];
        kernels[i] = work(i, cases[i][0]);
        assert_true(correct_run(c, &kernels[i], &r, note, sizeof note));
        if (strcmp(r.check, cases[i][1]) != 0)
            fail_msg("%s: check \"%s\": %s", cases[i][0], r.check, r.detail);
        if (*r.check)
            continue;
        assert_int_equal(r.cases, 2 * COUNT(calls));
        assert_int_equal(r.elements, 2 * ELEMENTS);
        assert_true(r.error == 0);
    }
    correct_destroy(c);
    assert_no_leaks();
}

/* What neighbours share is made once; what nobody shares goes. */
static void test_shared_truth(void **state)
{
    (void)state;
    static const int64_t kept[] = {12, 12, 14, 2};
    char *more[] = {calls[1], (char[]){"relu x=f32[7] y=f32[7]"}};
    char *others[] = {(char[]){"relu x=f32[8] y=f32[8]"}};
    work_kernel k[] = {work(0, "right"), work(1, "slow"), work(2, "right"),
                       work(3, "right")};
    correct *c = correct_create();
    k[2].calls = more;
    k[2].n_calls = 2;
    k[3].calls = others;
    k[3].n_calls = 1;
    for (int i = 0; i < COUNT(k); i++) {
        correct_result r;
        char note[1024];
        assert_true(correct_run(c, &k[i], &r, note, sizeof note));
        assert_string_equal(r.detail, "");
        assert_int_equal(r.cases, 2 * k[i].n_calls);
        assert_int_equal(c->samples.n, kept[i]);
    }
    correct_destroy(c);
    assert_no_leaks();
}

static void test_names_failures(void **state)
{
    (void)state;
    correct_result r;
    char note[1024];
    work_kernel k = work(0, "right");
    work_kernel other = k;
    correct *c = correct_create();
    other.symbol = "cuda_zeros";
    assert_true(correct_run(c, &other, &r, note, sizeof note));
    assert_string_equal(r.check, "kernel");
    other = k;
    other.config = "is=nothing";
    assert_true(correct_run(c, &other, &r, note, sizeof note));
    assert_string_equal(r.check, "plan");
    other = k;
    other.tier = "sm99";
    assert_true(correct_run(c, &other, &r, note, sizeof note));
    assert_string_equal(r.check, "context");
    other = k;
    other.isa = "avx2";
    assert_true(correct_run(c, &other, &r, note, sizeof note));
    assert_string_equal(r.check, "context");
    assert_true(correct_run_once(c, &k, &r, note, sizeof note));
    assert_string_equal(r.detail, "");
    assert_int_equal(r.cases, 1);
    assert_int_equal(r.elements, 1003);
    other = work(1, "drops_tail");
    assert_true(correct_run_once(c, &other, &r, note, sizeof note));
    assert_string_equal(r.check, "truth");
    correct_destroy(c);
    assert_no_leaks();
}

/* --- times ---------------------------------------------------------------- */

typedef struct times {
    int n;
    double us[3];
    int64_t rounds[3];
} times;

static void take(void *user, const work_key *key, const timing_result *result)
{
    times *t = user;
    (void)key;
    assert_true(result->spread >= 0);
    assert_true(result->same);
    t->us[t->n] = result->us;
    t->rounds[t->n++] = result->rounds;
}

static void test_timing(void **state)
{
    (void)state;
    char why[500], *all[] = {(char[]){"is=right"}, (char[]){"is=slow"},
                             (char[]){"is=zeros"}};
    int skipped = 0;
    times taken = {0};
    journal j = {.fd = -1};
    work_key k = {.tier = "sm90",
                  .isa = "-",
                  .key = "relu/map f32 contiguous n=100000",
                  .op = "relu",
                  .configs = all,
                  .n_configs = 3,
                  .call = "relu x=f32[1000] y=f32[1000]"};
    table_put(&j.states, "s\tsm90\t-\tcuda_right", JOURNAL_PASSED);
    table_put(&j.states, "s\tsm90\t-\tcuda_slow", JOURNAL_PASSED);
    table_put(&j.states, "s\tsm80\t-\tcuda_zeros", JOURNAL_PASSED);
    timing *t = timing_create(&j);
    assert_true(timing_key(t, &k, take, &taken, &skipped, why, sizeof why));
    assert_int_equal(skipped, 1); /* zeros passed on another tier */
    assert_int_equal(taken.n, 2);
    assert_true(taken.rounds[0] >= 3);
    assert_true(taken.us[0] > 0 && taken.us[1] > 2 * taken.us[0]);
    assert_int_equal(taken.rounds[1], 1); /* hopeless */
    /* smaller, larger, and another key: buffers are used again */
    k.call = "relu x=f32[65,3]:[4,1] y=f32[65,3]:[3,1]";
    k.key = "relu/map f32 inner n=100000";
    taken.n = 0;
    assert_true(timing_key(t, &k, take, &taken, &skipped, why, sizeof why));
    k.call = "relu x=f32[3000] y=f32[3000]";
    assert_false(timing_key(t, &k, take, &taken, &skipped, why, sizeof why));
    assert_non_null(strstr(why, "another key: relu/map f32 contiguous"));
    assert_true(timing_is_sound(t));
    timing_destroy(t);
    table_free(&j.states);
    assert_no_leaks();
}

/* --- whole runs ----------------------------------------------------------- */

#define LINE(tier, name, calls)                                                \
    "kernel\t" tier "\t-\tcuda_" name "\th\trelu\tis=" name                    \
    "\t0\tulp=0;abs=;l2=\t" calls "\n"
#define SMALL "relu x=f32[9] y=f32[9]; relu x=f32[2,3]:[4,1] y=f32[2,3]"
#define OTHER "relu x=f32[64] y=f32[64]"

static const char LIST[] = LINE("sm90", "right", SMALL)
    LINE("sm90", "crashes", SMALL) LINE("sm90", "zeros", SMALL)
        LINE("sm90", "aborts", SMALL) LINE("sm90", "slow", SMALL)
            LINE("sm80", "right", OTHER) LINE("sm80", "tires", OTHER)
                LINE("sm99", "right",
                     OTHER) "key\tsm90\t-\trelu/map f32 contiguous "
                            "n=64\tn=1..64\trelu\tis=right,"
                            "is=zeros,is=slow\t-\trelu x=f32[64] y=f32[64]\n"
                            "key\tsm80\t-\trelu/map f32 contiguous "
                            "n=64\tn=1..64\trelu\tis=right"
                            "\t-\trelu x=f32[64] y=f32[64]\n";

static void name_files(char *list, char *path)
{
    snprintf(list, 64, "/tmp/kiln-cuda-list-%d", (int)getpid());
    snprintf(path, 64, "/tmp/kiln-cuda-journal-%d", (int)getpid());
    unlink(path);
    FILE *out = fopen(list, "w");
    assert_non_null(out);
    fputs(LIST, out);
    fclose(out);
}

static void test_run(void **state)
{
    static char text[1 << 16];
    char list[64], path[64], why[500];
    int jobs = *(const int *)*state;
    worklist w;
    journal j;
    name_files(list, path);
    if (!worklist_load(&w, list, why, sizeof why) ||
        !journal_open(&j, path, &w, why, sizeof why))
        fail_msg("%s", why);
    run r = {.worklist = &w, .journal = &j, .jobs = jobs};
    assert_true(run_open(&r));
    assert_true(run_kernels(&r));
    assert_true(run_keys(&r));
    assert_int_equal(r.selected, 9);
    assert_int_equal(r.absent, 1);
    assert_int_equal(r.failed, 4);
    run_close(&r);
    journal_close(&j);
    worklist_free(&w);
    FILE *in = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    unlink(list);
    unlink(path);
    int lines = 0, passed = 0, forced = 0, crashed = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        lines++;
        passed += strstr(line, "\"status\":\"pass\"") != NULL;
        crashed += strstr(line, "\"check\":\"crash\"") != NULL;
        forced += strstr(line, "\"reach\":\"forced\"") != NULL;
        assert_non_null(strstr(line, "\"device\":\"NVIDIA H200\""));
        assert_true(!strstr(line, "\"tier\":\"sm80\"") ==
                    !strstr(line, "\"reach\":\"forced\""));
        assert_true(!strstr(line, "\"kernel\":\"cuda_crashes\"") ||
                    strstr(line, "as asked"));
    }
    assert_int_equal(lines, 7 + 3);
    assert_int_equal(passed, 3 + 3);
    assert_int_equal(crashed, 2);
    assert_int_equal(forced, 2 + 1);
}

/* In this process: kernels before the one that spoils it. */
static void test_run_once(void **state)
{
    (void)state;
    char list[64], path[64], why[500];
    worklist w;
    journal j;
    name_files(list, path);
    if (!worklist_load(&w, list, why, sizeof why) ||
        !journal_open(&j, path, &w, why, sizeof why))
        fail_msg("%s", why);
    run r = {.worklist = &w, .journal = &j, .once = true, .match = "right"};
    assert_true(run_open(&r));
    assert_true(run_kernels(&r));
    assert_int_equal(r.selected, 2);
    assert_int_equal(r.failed, 0);
    assert_int_equal(j.lines, 2);
    assert_no_leaks();
    r.match = "crashes";
    assert_false(run_kernels(&r));
    assert_int_equal(r.failed, 1);
    assert_int_equal(j.lines, 3);
    run_close(&r);
    journal_close(&j);
    worklist_free(&w);
    unlink(list);
    unlink(path);
}

int main(void)
{
    int one = 1, four = 4;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_run, &one),
        cmocka_unit_test_prestate(test_run, &four),
        cmocka_unit_test(test_judges),
        cmocka_unit_test(test_shared_truth),
        cmocka_unit_test(test_names_failures),
        cmocka_unit_test(test_timing),
        cmocka_unit_test(test_run_once), /* last: it spoils the process */
    };
    return cmocka_run_group_tests(tests, certify_tables_init, NULL);
}
