/* sources: runtime/core/ tests/unit/certify_tables.c tests/certify/call.c
   tests/certify/contexts.c tests/certify/correct.c
   tests/certify/correct_cpu.c tests/certify/correct_cuda.c
   tests/certify/driver.c tests/certify/fill.c tests/certify/gpu.c
   tests/certify/guard.c tests/certify/journal.c tests/certify/json.c
   tests/certify/judge.c tests/certify/lines.c tests/certify/progress.c
   tests/certify/run.c tests/certify/sample.c tests/certify/table.c
   tests/certify/tier.c tests/certify/timing.c tests/certify/timing_cpu.c
   tests/certify/timing_cuda.c tests/certify/worker.c
   tests/certify/worklist.c tests/truth/
   runtime/cuda/ runtime/cpu/cpu.c runtime/cpu/pool.c runtime/kiln_context.c
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
    int last;
    int lost;
    char why[1400];
} heard;

static bool hear(void *user, const char *line)
{
    heard *h = user;
    h->lines++;
    h->last = atoi(line);
    return h->last != 11; /* enough */
}

static bool lose(void *user, int64_t index, const char *why)
{
    heard *h = user;
    h->lost = h->lost * 10 + (int)index;
    snprintf(h->why, sizeof h->why, "%s", why);
    return true;
}

static bool item(void *user, int64_t index, FILE *out, char *note)
{
    (void)user;
    snprintf(note, WORKER_NOTE, "item %d", (int)index);
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
    fprintf(out, "%d %d\n", (int)index, (int)getpid());
    return index != 1;
}

static heard work_on(int64_t first, int64_t last)
{
    heard h = {0};
    const int64_t edges[] = {first, last};
    worker w = {.item = item, .line = hear, .lost = lose, .user = &h};
    w.timeout_s = 1;
    assert_true(worker_run(&w, edges, 1));
    return h;
}

static void test_worker(void **state)
{
    (void)state;
    heard h = work_on(0, 3);
    assert_int_equal(h.lines, 3);
    assert_int_equal(h.last, 2);
    h = work_on(2, 6);
    assert_int_equal(h.lines, 3);
    assert_int_equal(h.lost, 3);
    assert_non_null(strstr(h.why, "signal 6"));
    assert_non_null(strstr(h.why, "item 3"));
    h = work_on(6, 9);
    assert_int_equal(h.lost, 7);
    assert_non_null(strstr(h.why, "exit status 5"));
    assert_int_equal(h.last, 8);
    h = work_on(9, 11);
    assert_int_equal(h.lost, 9);
    assert_non_null(strstr(h.why, "no answer"));
    assert_int_equal(h.last, 10);
}

/* Who did item i: the child's number. */
typedef struct children {
    int did[16];
    int lines;
} children;

static bool hear_child(void *user, const char *line)
{
    children *c = user;
    int i, pid;
    assert_int_equal(sscanf(line, "%d %d", &i, &pid), 2);
    assert_int_equal(c->did[i], 0);
    c->did[i] = pid;
    c->lines++;
    return true;
}

static bool lose_none(void *user, int64_t index, const char *why)
{
    (void)user;
    (void)index;
    (void)why;
    return true;
}

static children work_together(int jobs, bool fresh)
{
    static const int64_t edges[] = {0, 3, 6, 6, 8, 9};
    children c = {0};
    worker w = {.item = item, .line = hear_child, .lost = lose_none};
    w.user = &c;
    w.timeout_s = 5;
    w.jobs = jobs;
    w.fresh = fresh;
    assert_true(worker_run(&w, edges, 5));
    assert_int_equal(c.lines, 7); /* all but 3 and 7 */
    /* 1 spoils its process, 3 ends its own */
    assert_int_equal(c.did[0], c.did[1]);
    assert_int_not_equal(c.did[1], c.did[2]);
    assert_int_equal(c.did[4], c.did[5]);
    return c;
}

static void test_workers(void **state)
{
    (void)state;
    children c = work_together(1, false);
    assert_int_equal(c.did[5], c.did[6]);
    c = work_together(1, true);
    assert_int_not_equal(c.did[5], c.did[6]);
    (void)work_together(4, false);
    (void)work_together(64, true);
    heard h = {0};
    const int64_t edges[] = {10, 16};
    worker w = {.item = item, .line = hear, .lost = lose, .user = &h};
    w.timeout_s = 5;
    assert_false(worker_run(&w, edges, 1)); /* stopped */
    assert_int_equal(h.last, 11);
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
    "key\tcpu\t" isa "\trelu/map f32 contiguous n=" n "\tn=" range             \
    "\trelu\t" cfgs "\t-\trelu x=f32[" n "] y=f32[" n "]\n"

static const char LIST[] =
    "# columns\n"
    "kernel\tcpu\tbase\tright\th1\trelu\tis=right\t0\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]; relu x=f32[2,3]:[4,1] y=f32[2,3]\n"
    "kernel\tcpu\tbase\tzeros\th2\trelu\tis=zeros\t1\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]\n"
    "kernel\tcpu\tbase\treads_on\th3\trelu\tis=reads_on\t0\tulp=0;abs=;l2=\t"
    "relu x=f32[9] y=f32[9]\n"
    "kernel\tsm99\t-\tright\th1\trelu\tis=right\t0\tulp=0;abs=;l2=\t"
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
    assert_int_equal(count_lines(f->journal, "\"reach\":\"measured\""), 5);
    assert_int_equal(count_lines(f->journal, "\"tier\":\"cpu\""), 5);
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
    refuse_list(f, "kernel\ta\tb\n", ":1: a kernel line has 10");
    refuse_list(f, "key\ta\tb\n", "a key line has 9");
    refuse_list(f, "kernel\tcpu\ta\tb\tc\td\te\t0\tg\t ;\n", "without calls");
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
        cmocka_unit_test(test_workers),
        cmocka_unit_test_setup_teardown(test_run, make_files, drop_files),
        cmocka_unit_test_setup_teardown(test_resume, make_files, drop_files),
        cmocka_unit_test_setup_teardown(test_selection, make_files, drop_files),
        cmocka_unit_test_setup_teardown(test_journal_is_exclusive, make_files,
                                        drop_files),
        cmocka_unit_test_setup_teardown(test_lists, make_files, drop_files),
    };
    return cmocka_run_group_tests(tests, certify_tables_init, NULL);
}
