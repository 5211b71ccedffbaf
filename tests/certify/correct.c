#include "correct.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "fill.h"
#include "judge.h"

#define DESCRIBE_BYTES 16384
#define THREADS 2
#define SETS 3 /* normal, special, and for ops on rows steep */
#define RUNS 3

/* NaN in every float format; two patterns unlike it and each other. */
static const int POISON[RUNS] = {0xFF, 0xA5, 0x3C};

typedef struct trial {
    const work_kernel *kernel;
    correct_result *result;
    judge_limits limits;
    kiln_context *contexts[2]; /* of one thread and of THREADS */
    int n_in;
    int n_out;
    call call;
    call_buffers buffers;
    guard workspace;
    char *inputs[CALL_MAX_TENSORS];  /* as they were filled */
    double *truth[CALL_MAX_TENSORS]; /* by tensor; NULL for inputs */
    char *bits[CALL_MAX_TENSORS];    /* outputs of the first run */
    char *again[CALL_MAX_TENSORS];   /* of a later one */
} trial;

static bool fail(trial *t, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(trial *t, const char *check, const char *format, ...)
{
    correct_result *r = t->result;
    va_list list;
    va_start(list, format);
    vsnprintf(r->detail, sizeof r->detail, format, list);
    va_end(list);
    r->check = check;
    return false;
}

/* Failure inside a case: the call goes first. */
static bool fail_in(trial *t, const char *check, const char *what)
{
    return fail(t, check, "%s: %s", t->call.text, what);
}

static size_t bytes_of(const DLTensor *tensor)
{
    return (size_t)(truth_numel(tensor) * truth_size(tensor->dtype));
}

/* --- contexts and plans --------------------------------------------------- */

static bool open_contexts(trial *t)
{
    DLDevice cpu = {kDLCPU, 0};
    for (int i = 0; i < 2; i++) {
        kiln_options options = {.size = sizeof options};
        options.isa = t->kernel->isa;
        options.config = t->kernel->config;
        options.threads = i ? THREADS : 1;
        if (kiln_context_create(&t->contexts[i], cpu, &options) != KILN_OK)
            return fail(t, "context", "%s", kiln_last_error());
    }
    return true;
}

/* The plan's one launch must be of the kernel that is on trial. */
static bool check_kernel(trial *t, const kiln_plan *plan)
{
    char want[256];
    char *text = malloc(DESCRIBE_BYTES);
    if (!text)
        return fail_in(t, "memory", "no memory to describe the plan");
    kiln_status status = kiln_plan_describe(plan, text, DESCRIBE_BYTES);
    snprintf(want, sizeof want, "\n  kernel %s,", t->kernel->symbol);
    const char *launch = strstr(text, "\n  kernel ");
    bool same = status == KILN_OK && launch &&
                strncmp(launch, want, strlen(want)) == 0 &&
                !strstr(launch + 1, "\n  kernel ");
    if (!same)
        fail(t, "kernel", "%s: another kernel would run: %.60s", t->call.text,
             launch ? launch + 3 : "none");
    free(text);
    return same;
}

static bool has_elements(const trial *t)
{
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (truth_numel(t->call.list[i]) > 0)
            return true;
    return false;
}

static kiln_plan *make_plan(trial *t, kiln_context *ctx)
{
    const call *c = &t->call;
    kiln_plan *plan = NULL;
    if (kiln_plan_create(&plan, ctx, c->op, c->list, c->n_tensors, c->attrs,
                         c->n_attrs) != KILN_OK ||
        kiln_plan_prepare(plan, NULL) != KILN_OK) {
        fail_in(t, "plan", kiln_last_error());
        kiln_plan_destroy(plan);
        return NULL;
    }
    if (has_elements(t) && !check_kernel(t, plan)) {
        kiln_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

/* --- inputs and truth ----------------------------------------------------- */

static bool is_rows(const char *op)
{
    return strstr(op, "softmax") != NULL;
}

static int64_t dim_of(const call *c)
{
    for (int i = 0; i < c->n_attrs; i++)
        if (strcmp(c->attrs[i].name, "dim") == 0 &&
            c->attrs[i].kind == KILN_ATTR_INT)
            return c->attrs[i].value.i;
    return -1;
}

static void fill_input(const call *c, int tensor, int set, uint64_t number)
{
    static const double scales[] = {1, 4, 0.25};
    const DLTensor *x = c->list[tensor];
    uint64_t seed = number * CALL_MAX_TENSORS + (uint64_t)tensor;
    if (set == 0)
        fill_normal(x, scales[number % 3], seed);
    else if (set == 2)
        fill_steep(x, dim_of(c), number);
    else if (is_rows(c->op))
        fill_rows(x, dim_of(c), number);
    else
        fill_special(x, seed);
}

/* Fills the inputs and keeps what they are, gaps too. */
static bool make_inputs(trial *t, int set, uint64_t number)
{
    for (int i = 0; i < t->n_in; i++) {
        const DLTensor *x = t->call.list[i];
        int64_t low, high;
        if (!x)
            continue;
        guard_fill(&t->buffers.guards[i], POISON[0]);
        fill_input(&t->call, i, set, number);
        call_extent(x, &low, &high);
        size_t bytes = (size_t)(high - low);
        t->inputs[i] = malloc(bytes + 1);
        if (!t->inputs[i])
            return fail_in(t, "memory", "no memory for inputs");
        memcpy(t->inputs[i], (char *)x->data + low, bytes);
    }
    return true;
}

static bool check_inputs(trial *t)
{
    for (int i = 0; i < t->n_in; i++) {
        const DLTensor *x = t->call.list[i];
        int64_t low, high;
        if (!x)
            continue;
        call_extent(x, &low, &high);
        if (memcmp(t->inputs[i], (char *)x->data + low, (size_t)(high - low)) !=
            0)
            return fail_in(t, "inputs", "an input was written to");
    }
    return true;
}

static bool make_truth(trial *t)
{
    const call *c = &t->call;
    for (int k = 0; k < t->n_out; k++) {
        int i = t->n_in + k;
        size_t n = (size_t)truth_numel(c->list[i]);
        t->truth[i] = malloc((n + 1) * sizeof(double));
        t->bits[i] = malloc(bytes_of(c->list[i]) + 1);
        t->again[i] = malloc(bytes_of(c->list[i]) + 1);
        if (!t->truth[i] || !t->bits[i] || !t->again[i])
            return fail_in(t, "memory", "no memory for truth");
        if (truth_eval(c->op, c->list, c->n_tensors, c->attrs, c->n_attrs, k,
                       t->truth[i]) != TRUTH_OK)
            return fail_in(t, "truth", "the truth knows no such call");
    }
    return true;
}

static void drop_case(trial *t)
{
    for (int i = 0; i < CALL_MAX_TENSORS; i++) {
        free(t->inputs[i]);
        free(t->truth[i]);
        free(t->bits[i]);
        free(t->again[i]);
        t->inputs[i] = t->bits[i] = t->again[i] = NULL;
        t->truth[i] = NULL;
    }
}

/* --- runs ----------------------------------------------------------------- */

/* Takes an output out of its buffer, which must be poison again without it. */
static bool take_output(trial *t, int i, int poison, char *dense)
{
    const DLTensor *y = t->call.list[i];
    const guard *g = &t->buffers.guards[i];
    int64_t at;
    call_gather(y, dense);
    call_paint(y, poison);
    if (!guard_find_other(g, poison, &at))
        return true;
    return fail(t, "stray write", "%s: %s: byte %lld of its buffer",
                t->call.text, t->call.tensors[i].name, (long long)at);
}

static bool run_once(trial *t, const kiln_plan *plan, int poison, char **dense)
{
    size_t bytes = kiln_plan_workspace(plan);
    void *workspace = NULL;
    if (bytes > 0) {
        workspace = guard_place(&t->workspace, 0, (int64_t)bytes, false);
        if (!workspace)
            return fail_in(t, "memory", "no memory for the workspace");
        guard_fill(&t->workspace, poison);
    }
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        guard_fill(&t->buffers.guards[i], poison);
    if (kiln_plan_enqueue(plan, NULL, workspace, NULL) != KILN_OK)
        return fail_in(t, "enqueue", kiln_last_error());
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (!take_output(t, i, poison, dense[i]))
            return false;
    return true;
}

static bool judge_output(trial *t, int i)
{
    correct_result *r = t->result;
    DLTensor y = *t->call.list[i];
    judge_report report;
    y.data = t->bits[i];
    y.byte_offset = 0;
    y.strides = NULL;
    judge_tensor(&y, t->truth[i], &t->limits, &report);
    r->elements += report.elements;
    if (report.share >= r->error && report.elements > 0) {
        r->error = report.share;
        snprintf(r->worst, sizeof r->worst, "%s[%lld]", t->call.text,
                 (long long)report.index);
    }
    if (report.share <= 1)
        return true;
    if (report.index < 0)
        return fail(t, "l2", "%s: %s: l2 error %.3g, limit %.3g", t->call.text,
                    t->call.tensors[i].name, report.l2, t->limits.l2);
    return fail(t, "truth",
                "%s: %s[%lld] is %.17g, truth %.17g, %.3g of the limit; %lld "
                "NaN and %lld infinities differ",
                t->call.text, t->call.tensors[i].name, (long long)report.index,
                report.got, report.want, report.share,
                (long long)report.nan_mismatches,
                (long long)report.inf_mismatches);
}

static bool judge_outputs(trial *t)
{
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (!judge_output(t, i))
            return false;
    return true;
}

static bool same_bits(trial *t, const char *check)
{
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (memcmp(t->bits[i], t->again[i], bytes_of(t->call.list[i])) != 0)
            return fail_in(t, check, "two runs differ");
    return true;
}

/* Two runs on THREADS threads, then one on one thread. */
static bool run_case(trial *t)
{
    kiln_plan *two = make_plan(t, t->contexts[1]);
    kiln_plan *one = two ? make_plan(t, t->contexts[0]) : NULL;
    bool good = two && one && run_once(t, two, POISON[0], t->bits) &&
                judge_outputs(t) && run_once(t, two, POISON[1], t->again) &&
                same_bits(t, "repeat") &&
                run_once(t, one, POISON[2], t->again) &&
                same_bits(t, "threads") && check_inputs(t);
    kiln_plan_destroy(one);
    kiln_plan_destroy(two);
    return good;
}

/* --- kernels -------------------------------------------------------------- */

static bool parse_call(trial *t, const char *text)
{
    char why[CORRECT_TEXT];
    if (!call_parse(&t->call, text, why, sizeof why))
        return fail(t, "call", "%s", why);
    if (strcmp(t->call.op, t->kernel->op) != 0)
        return fail_in(t, "call", "it calls another op");
    if (t->call.n_tensors != t->n_in + t->n_out)
        return fail_in(t, "call", "another number of tensors than the truth");
    for (int i = t->n_in; i < t->call.n_tensors; i++)
        if (!t->call.list[i])
            return fail_in(t, "call", "an output is absent");
    return true;
}

static bool run_call(trial *t, int number, char *note, size_t cap)
{
    if (!parse_call(t, t->kernel->calls[number]))
        return false;
    for (int set = 0; set < (is_rows(t->call.op) ? SETS : SETS - 1); set++) {
        snprintf(note, cap, "set %d of %s", set, t->call.text);
        bool good = call_place(&t->call, &t->buffers, set == 1) ||
                    fail_in(t, "memory", "no memory for tensors");
        good = good && make_inputs(t, set, (uint64_t)number) && make_truth(t) &&
               run_case(t);
        drop_case(t);
        if (!good)
            return false;
        t->result->cases++;
    }
    return true;
}

static bool run_kernel(trial *t, char *note, size_t cap)
{
    char why[CORRECT_TEXT];
    if (!judge_limits_parse(t->kernel->limits, &t->limits, why, sizeof why))
        return fail(t, "limits", "%s", why);
    if (!truth_arity(t->kernel->op, &t->n_in, &t->n_out))
        return fail(t, "truth", "tests/truth has no op %s", t->kernel->op);
    if (!open_contexts(t))
        return false;
    for (int i = 0; i < t->kernel->n_calls; i++)
        if (!run_call(t, i, note, cap))
            return false;
    return true;
}

void correct_run(const work_kernel *kernel, correct_result *result, char *note,
                 size_t cap)
{
    trial *t = calloc(1, sizeof *t);
    *result = (correct_result){.check = ""};
    if (!t) {
        result->check = "memory";
        return;
    }
    t->kernel = kernel;
    t->result = result;
    (void)run_kernel(t, note, cap);
    kiln_context_destroy(t->contexts[0]);
    kiln_context_destroy(t->contexts[1]);
    call_release(&t->buffers);
    guard_release(&t->workspace);
    free(t);
}
