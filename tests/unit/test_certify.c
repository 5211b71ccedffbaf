/* sources: runtime/core/ tests/unit/certify_tables.c tests/certify/call.c
   tests/certify/correct.c tests/certify/fill.c tests/certify/guard.c
   tests/certify/journal.c tests/certify/json.c tests/certify/judge.c
   tests/certify/progress.c tests/certify/run.c tests/certify/table.c
   tests/certify/timing.c tests/certify/worker.c tests/certify/worklist.c
   tests/truth/
   runtime/cpu/cpu.c runtime/cpu/pool.c runtime/kiln_context.c
   runtime/kiln_describe.c runtime/kiln_device.c runtime/kiln_plan.c
   runtime/kiln_run.c */
/* Runs: children, lines, the journal, the list. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../certify/json.h"
#include "../certify/run.h"
#include "../certify/worker.h"
#include "certify_tables.h"

/* --- children ------------------------------------------------------------- */

typedef struct heard {
    int lines;
    char last[100];
} heard;

static void hear(void *user, const char *line)
{
    heard *h = user;
    h->lines++;
    snprintf(h->last, sizeof h->last, "%s", line);
}

static void item(void *user, int64_t index, FILE *out, char *note)
{
    const heard *h = user;
    (void)h;
    snprintf(note, WORKER_NOTE, "item %d", (int)index);
    fprintf(out, "line %d\n", (int)index);
    if (index == 3) {
        fprintf(out, "half a line");
        fflush(out);
        abort();
    }
    if (index == 7)
        _exit(5);
    if (index == 9)
        for (;;)
            pause();
}

static void test_worker(void **state)
{
    (void)state;
    char why[200];
    heard h = {0};
    worker w = {.item = item, .line = hear, .user = &h, .timeout_s = 1};
    assert_int_equal(worker_run(&w, 0, 3, why, sizeof why), 3);
    assert_int_equal(h.lines, 3);
    assert_string_equal(h.last, "line 2\n");
    assert_int_equal(worker_run(&w, 2, 6, why, sizeof why), 3);
    assert_non_null(strstr(why, "signal 6"));
    assert_non_null(strstr(why, "item 3"));
    assert_int_equal(h.lines, 5);
    assert_int_equal(worker_run(&w, 6, 9, why, sizeof why), 7);
    assert_non_null(strstr(why, "exit status 5"));
    assert_int_equal(worker_run(&w, 9, 12, why, sizeof why), 9);
    assert_non_null(strstr(why, "no answer"));
}

/* --- JSON ----------------------------------------------------------------- */

static void test_json(void **state)
{
    (void)state;
    char line[500], value[100];
    FILE *out = fmemopen(line, sizeof line, "w");
    json j;
    json_begin(&j, out);
    json_text(&j, "a", "x\"\\\n\t y");
    json_int(&j, "n", INT64_MIN);
    json_real(&j, "r", INFINITY);
    json_text(&j, "empty", "");
    json_real(&j, "half", 0.5);
    json_end(&j);
    fclose(out);
    assert_string_equal(line, "{\"a\":\"x\\\"\\\\\\u000a\\u0009 y\",\"n\":"
                              "-9223372036854775808,\"r\":1e+300,\"empty\":"
                              "\"\",\"half\":0.5}\n");
    assert_true(json_find(line, "a", value, sizeof value));
    assert_string_equal(value, "x\"\\\n\t y");
    assert_true(json_find(line, "half", value, sizeof value));
    assert_string_equal(value, "0.5");
    assert_true(json_find(line, "empty", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(json_find(line, "b", value, sizeof value));
    assert_false(json_find(line, "n", value, 5));
    assert_false(json_find("", "n", value, sizeof value));
    assert_false(json_find("{\"a\":1", "b", value, sizeof value));
    assert_false(json_find("{\"a\":\"x", "a", value, sizeof value));
    assert_false(json_find("{\"a\":[1],\"b\":2}", "b", value, sizeof value));
    assert_true(json_find(" { \"a\" : 1 , \"b\" : \"2\" }", "b", value, 2));
    assert_string_equal(value, "2");
}

/* --- whole runs ----------------------------------------------------------- */

#define KEY_LINE(isa, n, cfgs, range)                                          \
    "key\t" isa "\trelu/map f32 contiguous n=" n "\tn=" range "\trelu\t" cfgs  \
    "\t-\trelu x=f32[" n "] y=f32[" n "]\n"

static const char LIST[] =
    "# columns\n"
    "kernel\tbase\tright\th1\trelu\tis=right\t0\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]; relu x=f32[2,3]:[4,1] y=f32[2,3]\n"
    "kernel\tbase\tzeros\th2\trelu\tis=zeros\t1\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]\n"
    "kernel\tbase\treads_on\th3\trelu\tis=reads_on\t0\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]\n"
    "kernel\tsm90\tright\th1\trelu\tis=right\t0\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]\n" KEY_LINE("base", "64", "is=right,is=zeros",
                                        "1..64")
        KEY_LINE("base", "100000", "is=right,is=reads_on", "65..100000");

typedef struct files {
    char list[64];
    char journal[64];
} files;

static void write_text(const char *path, const char *text, const char *mode)
{
    FILE *out = fopen(path, mode);
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static char *read_text(const char *path)
{
    static char text[1 << 16];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static int count_lines(const char *path, const char *part)
{
    int n = 0;
    for (char *line = strtok(read_text(path), "\n"); line;
         line = strtok(NULL, "\n"))
        n += strstr(line, part) != NULL;
    return n;
}

static int make_files(void **state)
{
    static files f;
    snprintf(f.list, sizeof f.list, "/tmp/kiln-list-%d", (int)getpid());
    snprintf(f.journal, sizeof f.journal, "/tmp/kiln-journal-%d",
             (int)getpid());
    write_text(f.list, LIST, "w");
    unlink(f.journal);
    *state = &f;
    return 0;
}

static int drop_files(void **state)
{
    const files *f = *state;
    unlink(f->list);
    unlink(f->journal);
    return 0;
}

static run run_all(const files *f, const char *match)
{
    char why[500];
    worklist w;
    journal j;
    if (!worklist_load(&w, f->list, why, sizeof why) ||
        !journal_open(&j, f->journal, &w, why, sizeof why))
        fail_msg("%s", why);
    run r = {.worklist = &w, .journal = &j, .match = match};
    assert_true(run_open(&r));
    assert_true(run_kernels(&r));
    assert_true(run_keys(&r));
    run_close(&r);
    journal_close(&j);
    worklist_free(&w);
    return r;
}

static void test_run(void **state)
{
    const files *f = *state;
    run r = run_all(f, NULL);
    assert_int_equal(r.selected, 5);
    assert_int_equal(r.absent, 1);
    assert_int_equal(r.failed, 2);
    assert_int_equal(count_lines(f->journal, "\"kind\":\"kernel\""), 3);
    assert_int_equal(count_lines(f->journal, "\"check\":\"crash\""), 1);
    assert_int_equal(count_lines(f->journal, "\"kernel\":\"right\""), 1);
    /* only the config whose kernel passed is timed */
    assert_int_equal(count_lines(f->journal, "\"kind\":\"key\""), 2);
    assert_int_equal(count_lines(f->journal, "\"config\":\"is=right\",\"us\""),
                     2);
    char before[1 << 14];
    snprintf(before, sizeof before, "%s", read_text(f->journal));
    r = run_all(f, NULL);
    assert_int_equal(r.failed, 2); /* still */
    assert_string_equal(read_text(f->journal), before);
}

static void test_resume(void **state)
{
    const files *f = *state;
    (void)run_all(f, NULL);
    /* a torn line goes, foreign ones stay */
    write_text(f->journal, "something else\n{\"kind\":\"kernel\",\"isa\":\"b",
               "a");
    (void)run_all(f, NULL);
    assert_int_equal(count_lines(f->journal, ""), 6);
    assert_int_equal(count_lines(f->journal, "something else"), 1);
    /* a kernel changes: its line and its config's times are made anew */
    char list[sizeof LIST];
    strcpy(list, LIST);
    memcpy(strstr(list, "\th1\t"), "\th9\t", 4);
    write_text(f->list, list, "w");
    (void)run_all(f, NULL);
    assert_int_equal(count_lines(f->journal, "\"hash\":\"h1\""), 0);
    assert_int_equal(count_lines(f->journal, "\"hash\":\"h9\""), 1);
    assert_int_equal(count_lines(f->journal, "\"kind\":\"key\""), 2);
    /* a bucket moves */
    memcpy(strstr(list, "1..64"), "2..64", 5);
    write_text(f->list, list, "w");
    (void)run_all(f, NULL);
    assert_int_equal(count_lines(f->journal, "1..64"), 0);
    assert_int_equal(count_lines(f->journal, "2..64"), 1);
}

static void test_selection(void **state)
{
    const files *f = *state;
    run r = run_all(f, "n=64");
    assert_int_equal(r.selected, 1);
    assert_int_equal(r.failed, 1); /* no kernel has passed */
    r = run_all(f, "nothing");
    assert_int_equal(r.selected, 0);
    assert_true(worklist_has_op("a,relu", "relu"));
    assert_true(worklist_has_op(NULL, "relu"));
    assert_false(worklist_has_op("relu6,rel", "relu"));
    assert_false(worklist_has_op("", "relu"));
}

static void test_journal_is_exclusive(void **state)
{
    const files *f = *state;
    char why[500];
    worklist w;
    journal one, two;
    assert_true(worklist_load(&w, f->list, why, sizeof why));
    assert_true(journal_open(&one, f->journal, &w, why, sizeof why));
    assert_false(journal_open(&two, f->journal, &w, why, sizeof why));
    assert_non_null(strstr(why, "another run"));
    journal_close(&one);
    worklist_free(&w);
}

static void refuse_list(const files *f, const char *text, const char *problem)
{
    char why[500];
    worklist w;
    write_text(f->list, text, "w");
    assert_false(worklist_load(&w, f->list, why, sizeof why));
    if (!strstr(why, problem))
        fail_msg("%s", why);
}

static void test_lists(void **state)
{
    const files *f = *state;
    char why[500], twice[2 * sizeof LIST];
    worklist w;
    refuse_list(f, "# x\nkernle\tx\n", ":2: a line starts with");
    refuse_list(f, "kernel\ta\tb\n", ":1: a kernel line has 9");
    refuse_list(f, "key\ta\tb\n", "a key line has 8");
    refuse_list(f, "kernel\ta\tb\tc\td\te\t0\tg\t ;\n", "without calls");
    snprintf(twice, sizeof twice, "%s%s", LIST, LIST);
    refuse_list(f, twice, "second line");
    assert_false(worklist_load(&w, "/nonexistent", why, sizeof why));
    assert_non_null(strstr(why, "/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_worker),
        cmocka_unit_test_setup_teardown(test_run, make_files, drop_files),
        cmocka_unit_test_setup_teardown(test_resume, make_files, drop_files),
        cmocka_unit_test_setup_teardown(test_selection, make_files, drop_files),
        cmocka_unit_test_setup_teardown(test_journal_is_exclusive, make_files,
                                        drop_files),
        cmocka_unit_test_setup_teardown(test_lists, make_files, drop_files),
    };
    return cmocka_run_group_tests(tests, certify_tables_init, NULL);
}
