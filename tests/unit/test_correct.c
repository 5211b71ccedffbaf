/* sources: runtime/core/ tests/unit/certify_tables.c tests/certify/call.c
   tests/certify/contexts.c tests/certify/correct.c
   tests/certify/correct_cpu.c tests/certify/correct_cuda.c
   tests/certify/driver.c tests/certify/fill.c tests/certify/gpu.c
   tests/certify/guard.c tests/certify/journal.c tests/certify/json.c
   tests/certify/judge.c tests/certify/sample.c tests/certify/table.c
   tests/certify/timing.c tests/certify/timing_cpu.c
   tests/certify/timing_cuda.c tests/certify/worklist.c tests/truth/
   runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c */
/* Judging and timing kernels of which all but one are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../certify/correct.h"
#include "../certify/timing.h"
#include "certify_tables.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))
#define NOTE 1024

/* --- correctness ---------------------------------------------------------- */

static char *calls[] = {(char[]){"relu x=f32[1] y=f32[1]"},
                        (char[]){"relu x=f32[1003]+1 y=f32[1003]+2"},
                        (char[]){"relu x=f32[5,17]:[20,1] y=f32[5,17]:[18,1]"},
                        (char[]){"relu x=f32[33]:[3] y=f32[33]:[2]"},
                        (char[]){"relu x=f32[] y=f32[]"},
                        (char[]){"relu x=f32[0,3] y=f32[0,3]"}};

static work_kernel work(const char *config, const char *symbol)
{
    return (work_kernel){.tier = "cpu",
                         .isa = "base",
                         .symbol = symbol,
                         .hash = "0",
                         .op = "relu",
                         .config = config,
                         .limits = "ulp=1;abs=;l2=",
                         .calls = calls,
                         .n_calls = COUNT(calls)};
}

static void run(const work_kernel *k, correct_result *result, char *note,
                size_t cap)
{
    correct *c = correct_create();
    assert_non_null(c);
    assert_true(correct_run(c, k, result, note, cap));
    correct_destroy(c);
}

static const correct_result *judged(const char *config, const char *symbol)
{
    static correct_result result;
    char note[NOTE];
    work_kernel k = work(config, symbol);
    run(&k, &result, note, sizeof note);
    return &result;
}

static void assert_check(const char *symbol, const char *check)
{
    char config[64];
    snprintf(config, sizeof config, "is=%s", symbol);
    const correct_result *r = judged(config, symbol);
    if (strcmp(r->check, check) != 0)
        fail_msg("%s: check \"%s\": %s", symbol, r->check, r->detail);
}

static void test_accepts_right(void **state)
{
    (void)state;
    const correct_result *r = judged("is=right", "right");
    assert_string_equal(r->detail, "");
    assert_string_equal(r->check, "");
    assert_int_equal(r->cases, 2 * COUNT(calls));
    assert_int_equal(r->elements, 2 * (1 + 1003 + 85 + 33 + 1));
    assert_true(r->error == 0);
}

static void test_refuses_wrong(void **state)
{
    (void)state;
    assert_check("zeros", "truth");
    assert_check("drops_nan", "truth");
    assert_check("drops_tail", "truth");
    assert_check("writes_on", "stray write");
    assert_check("reads_output", "repeat");
    assert_check("knows_cuts", "threads");
    assert_check("writes_input", "inputs");
}

static void test_names_failures(void **state)
{
    (void)state;
    const correct_result *r = judged("is=zeros", "zeros");
    assert_non_null(strstr(r->detail, calls[0]));
    assert_non_null(strstr(r->worst, "[0]"));
    assert_string_equal(judged("is=right", "zeros")->check, "kernel");
    assert_string_equal(judged("is=nothing", "zeros")->check, "plan");
    work_kernel k = work("is=right", "right");
    correct_result result;
    char note[NOTE];
    k.limits = "ulp=;abs=;l2=1";
    run(&k, &result, note, sizeof note);
    assert_string_equal(result.check, "limits");
    k = work("is=right", "right");
    k.op = "softmax";
    run(&k, &result, note, sizeof note);
    assert_string_equal(result.check, "call");
    k.op = "relux";
    run(&k, &result, note, sizeof note);
    assert_string_equal(result.check, "truth");
    k = work("is=right", "right");
    k.isa = "sm90";
    run(&k, &result, note, sizeof note);
    assert_string_equal(result.check, "context");
}

/* A product that is rounded before a sum that cancels, and an attribute that is
 * not of the type computed in: at 1 both are right. */
static void test_dynamic_attribute(void **state)
{
    (void)state;
    char *sum_calls[] = {
        (char[]){"add a=f32[4099] b=f32[4099] y=f32[4099]"},
        (char[]){"add a=f32[4099]+1 b=f32[4099] y=f32[4099] alpha=-0.7"}};
    static const char *const names[] = {"sums", "rounds_product",
                                        "keeps_alpha"};
    for (int i = 0; i < 6; i++) {
        char config[64], note[NOTE];
        correct_result result;
        snprintf(config, sizeof config, "is=%s", names[i % 3]);
        work_kernel k = work(config, names[i % 3]);
        k.op = "add";
        k.calls = sum_calls;
        k.n_calls = 1 + i / 3;
        run(&k, &result, note, sizeof note);
        bool wrong = i > 3;
        assert_string_equal(result.check, wrong ? "truth" : "");
        assert_true(!wrong || strstr(result.detail, "alpha=-0.7"));
        assert_true(wrong || result.cases == 3 * k.n_calls);
    }
}

/* --- times ---------------------------------------------------------------- */

static void take(void *user, const work_key *key, const timing_result *result)
{
    int *taken = user;
    (void)key;
    assert_true(result->us > 0 && result->us < 1e6);
    assert_true(result->spread >= 0);
    assert_true(result->rounds >= 3);
    assert_true(result->same);
    ++*taken;
}

static void test_timing(void **state)
{
    (void)state;
    char why[500], name[64],
        *both[] = {(char[]){"is=right"}, (char[]){"is=zeros"}};
    int taken = 0, skipped = 0;
    journal j = {.fd = -1};
    work_key k = {.tier = "cpu",
                  .isa = "base",
                  .key = "relu/map f32 contiguous n=100000",
                  .op = "relu",
                  .configs = both,
                  .n_configs = 2,
                  .call = "relu x=f32[5000] y=f32[5000]"};
    timing *t = timing_create(&j);
    assert_true(timing_key(t, &k, take, &taken, &skipped, why, sizeof why));
    assert_int_equal(taken, 0);
    assert_int_equal(skipped, 2);
    snprintf(name, sizeof name, "s\tcpu\tbase\tright");
    table_put(&j.states, name, JOURNAL_PASSED);
    snprintf(name, sizeof name, "s\tcpu\tbase\tzeros");
    table_put(&j.states, name, JOURNAL_PASSED);
    assert_true(timing_key(t, &k, take, &taken, &skipped, why, sizeof why));
    assert_int_equal(taken, 2);
    k.call = "relu x=f32[64] y=f32[64]";
    assert_false(timing_key(t, &k, take, &taken, &skipped, why, sizeof why));
    assert_non_null(strstr(why, "another key: relu/map f32 contiguous n=64"));
    timing_destroy(t);
    table_free(&j.states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_right),
        cmocka_unit_test(test_refuses_wrong),
        cmocka_unit_test(test_names_failures),
        cmocka_unit_test(test_dynamic_attribute),
        cmocka_unit_test(test_timing),
    };
    return cmocka_run_group_tests(tests, certify_tables_init, NULL);
}
