/* demo: runs the calls that real models make through the public interface and
 * holds every output to the f64 truth.
 *
 * sources beside tests/truth: tests/certify/ call, guard, fill and judge.
 * Reads what `kiln census` prints, fields apart by tabs:
 *   model note call keys limits state tier
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../certify/call.h"
#include "../certify/fill.h"
#include "../certify/judge.h"

#define MAX_ROWS 1024
#define LINE 8192
#define NAME 128
#define RUNS 3
#define POISON 0xFF

enum { DONE = 0, WRONG_INPUT = 1, WRONG_USAGE = 2, FAILED = 3 };

/* What running one call showed; kept for all models that make it. */
typedef struct outcome {
    bool good;
    judge_report report;
    double ms;
    char key[256];
    char kernel[NAME];
    char problem[LINE];
} outcome;

typedef struct row {
    char *model;
    char *note;
    char *call;
    char *keys;
    char *limits;
    outcome *outcome; /* owned by the first row of its call */
    bool first;
} row;

typedef struct demo {
    kiln_context *context;
    call_buffers buffers;
    guard workspace;
    double *truth;
    size_t n_truth;
    row rows[MAX_ROWS];
    int n_rows;
    call call;
} demo;

/* --- one call ------------------------------------------------------------- */

static bool refuse(outcome *o, const char *problem)
{
    snprintf(o->problem, sizeof o->problem, "%s", problem);
    return false;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* What follows `lead` up to one of `stops` in the plan's description. */
static void find_text(const char *text, const char *lead, const char *stops,
                      char *value, size_t cap)
{
    const char *at = strstr(text, lead);
    at = at ? at + strlen(lead) : "-";
    snprintf(value, cap, "%.*s", (int)strcspn(at, stops), at);
}

static bool make_plan(demo *d, outcome *o, kiln_plan **plan)
{
    const call *c = &d->call;
    char text[4096];
    if (kiln_plan_create(plan, d->context, c->op, c->list, c->n_tensors,
                         c->attrs, c->n_attrs) != KILN_OK ||
        kiln_plan_prepare(*plan, NULL) != KILN_OK ||
        kiln_plan_describe(*plan, text, sizeof text) != KILN_OK)
        return refuse(o, kiln_last_error());
    find_text(text, "launch 0: ", "\n", o->key, sizeof o->key);
    find_text(text, "  kernel ", ",", o->kernel, sizeof o->kernel);
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool run_plan(demo *d, outcome *o, const kiln_plan *plan)
{
    double ms[RUNS];
    void *workspace = guard_place(&d->workspace, 0,
                                  (int64_t)kiln_plan_workspace(plan), false);
    if (!workspace)
        return refuse(o, "no memory for the workspace");
    for (int i = 0; i < RUNS; i++) {
        double start = now_ms();
        if (kiln_plan_enqueue(plan, NULL, workspace, NULL) != KILN_OK)
            return refuse(o, kiln_last_error());
        ms[i] = now_ms() - start;
    }
    qsort(ms, RUNS, sizeof *ms, by_value);
    o->ms = ms[RUNS / 2];
    return true;
}

static bool make_truth(demo *d, outcome *o, int output)
{
    const call *c = &d->call;
    int n_in = 0, n_out = 0;
    (void)truth_arity(c->op, &n_in, &n_out);
    size_t n = (size_t)truth_numel(c->list[n_in + output]);
    if (n > d->n_truth) {
        free(d->truth);
        d->truth = malloc(n * sizeof *d->truth);
        d->n_truth = d->truth ? n : 0;
        if (!d->truth)
            return refuse(o, "no memory for the truth");
    }
    return truth_eval(c->op, c->list, c->n_tensors, c->attrs, c->n_attrs,
                      output, d->truth) == TRUTH_OK ||
           refuse(o, "the truth knows no such call");
}

static bool judge_outputs(demo *d, outcome *o, int n_in, int n_out,
                          const judge_limits *limits)
{
    for (int k = 0; k < n_out; k++) {
        judge_report report;
        if (!make_truth(d, o, k))
            return false;
        judge_tensor(d->call.list[n_in + k], d->truth, limits, &report);
        if (k == 0 || report.share > o->report.share)
            o->report = report;
    }
    return true;
}

static bool place_tensors(demo *d, outcome *o, int n_in)
{
    if (!call_place(&d->call, &d->buffers, false))
        return refuse(o, "no memory for tensors");
    for (int i = 0; i < d->call.n_tensors; i++) {
        if (i < n_in && d->call.list[i])
            fill_normal(d->call.list[i], 3, (uint64_t)i);
        else
            guard_fill(&d->buffers.guards[i], POISON);
    }
    return true;
}

static bool run_call(demo *d, const row *r, outcome *o)
{
    char why[LINE];
    int n_in, n_out;
    judge_limits limits;
    kiln_plan *plan = NULL;
    if (!call_parse(&d->call, r->call, why, sizeof why) ||
        !judge_limits_parse(r->limits, &limits, why, sizeof why))
        return refuse(o, why);
    if (!truth_arity(d->call.op, &n_in, &n_out) ||
        d->call.n_tensors != n_in + n_out)
        return refuse(o, "the truth knows no such call");
    bool good = place_tensors(d, o, n_in) && make_plan(d, o, &plan) &&
                run_plan(d, o, plan) &&
                judge_outputs(d, o, n_in, n_out, &limits);
    kiln_plan_destroy(plan);
    return good &&
           (o->report.share <= 1 || refuse(o, "an output is not the truth"));
}

/* --- the list ------------------------------------------------------------- */

static char *next_field(char **at)
{
    char *field = *at;
    char *end = field + strcspn(field, "\t\n");
    *at = end + (*end != '\0');
    *end = '\0';
    return field;
}

/* Takes the line over. */
static bool read_row(demo *d, char *line)
{
    if (d->n_rows == MAX_ROWS)
        return false;
    row *r = &d->rows[d->n_rows++];
    r->model = next_field(&line);
    r->note = next_field(&line);
    r->call = next_field(&line);
    r->keys = next_field(&line);
    r->limits = next_field(&line);
    return *r->call && *r->limits;
}

static bool read_rows(demo *d, const char *path)
{
    char line[LINE];
    FILE *in = fopen(path, "r");
    if (!in) {
        perror(path);
        return false;
    }
    bool good = true;
    for (int number = 1; good && fgets(line, sizeof line, in); number++) {
        char *copy = *line == '#' || *line == '\n' ? NULL : strdup(line);
        if (copy && !read_row(d, copy)) {
            fprintf(stderr,
                    "%s:%d: a line is model, note, call, keys and limits, "
                    "apart by tabs\n",
                    path, number);
            good = false;
        }
    }
    fclose(in);
    if (good && d->n_rows == 0)
        fprintf(stderr, "%s: no calls; write it with kiln census\n", path);
    return good && d->n_rows > 0;
}

/* --- the table ------------------------------------------------------------ */

/* "f32[512,4096] -> f32[512,4096]", a dtype alone where sizes repeat. */
static void shape_text(const char *from, char *text, size_t cap)
{
    size_t n = 0;
    const char *at = strchr(from, ' ');
    for (text[0] = '\0'; at && n < cap; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        const char *value = strchr(at, '=');
        const char *bracket = strchr(at, '[');
        size_t length = strcspn(at, " ");
        if (!value || !bracket || bracket > at + length)
            break;
        n += (size_t)snprintf(text + n, cap - n, "%s%.*s", n ? " " : "",
                              (int)(length - (size_t)(value + 1 - at)),
                              value + 1);
    }
}

static void print_row(const row *r)
{
    char shape[NAME], op[NAME];
    const outcome *o = r->outcome;
    snprintf(op, sizeof op, "%.*s", (int)strcspn(r->call, " "), r->call);
    shape_text(r->call, shape, sizeof shape);
    printf("%-11s %-8s %-34s", r->model, op, shape);
    if (!o->kernel[0]) {
        printf(" %s\n    %s\n", r->keys, o->problem);
        return;
    }
    printf(" %8.3f %8.1e %7.2f %9.3f  %s  %s\n", o->report.share,
           o->report.max_abs, o->report.max_ulp, o->ms, o->key, o->kernel);
    if (!o->good)
        printf("    %s: element %lld is %.9g, truth %.9g\n", o->problem,
               (long long)o->report.index, o->report.got, o->report.want);
}

/* The outcome of an earlier row of the same call, or a new one. */
static bool take_outcome(demo *d, row *r)
{
    for (const row *other = d->rows; other < r; other++)
        if (strcmp(other->call, r->call) == 0 &&
            strcmp(other->limits, r->limits) == 0) {
            r->outcome = other->outcome;
            return true;
        }
    r->first = true;
    r->outcome = calloc(1, sizeof *r->outcome);
    if (r->outcome)
        r->outcome->good = run_call(d, r, r->outcome);
    return r->outcome != NULL;
}

static int run_rows(demo *d)
{
    int failed = 0, calls = 0;
    double start = now_ms(), elements = 0;
    printf("# error: worst share of the op's limit (1 passes), with the "
           "largest absolute\n# error and in units in the last place; time: "
           "median of %d, in ms\n",
           RUNS);
    printf("%-11s %-8s %-34s %8s %8s %7s %9s  %s  %s\n", "model", "op", "shape",
           "error", "abs", "ulp", "ms", "key", "kernel");
    for (int i = 0; i < d->n_rows; i++) {
        row *r = &d->rows[i];
        if (!take_outcome(d, r))
            return FAILED;
        print_row(r);
        fflush(stdout);
        failed += !r->outcome->good;
        calls += r->first;
        elements += r->first ? (double)r->outcome->report.elements : 0;
    }
    printf("%d calls of models, %d distinct, %.0f outputs held to the f64 "
           "truth, %d failed, %.1f s\n",
           d->n_rows, calls, elements, failed, (now_ms() - start) / 1e3);
    return failed ? FAILED : DONE;
}

static void close_demo(demo *d)
{
    for (int i = 0; i < d->n_rows; i++) {
        if (d->rows[i].first)
            free(d->rows[i].outcome);
        free(d->rows[i].model); /* the line's start */
    }
    kiln_context_destroy(d->context);
    call_release(&d->buffers);
    guard_release(&d->workspace);
    free(d->truth);
    free(d);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "build/demo.tsv";
    if (argc > 2 || *path == '-') {
        fputs("usage: demo [FILE]   (build/demo.tsv, from kiln census)\n",
              stderr);
        return WRONG_USAGE;
    }
    demo *d = calloc(1, sizeof *d);
    if (!d)
        return FAILED;
    int status = WRONG_INPUT;
    if (read_rows(d, path)) {
        status = FAILED;
        if (kiln_context_create(&d->context, (DLDevice){kDLCPU, 0}, NULL) ==
            KILN_OK)
            status = run_rows(d);
        else
            fprintf(stderr, "demo: %s\n", kiln_last_error());
    }
    close_demo(d);
    return status;
}
