#include "correct.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

#define DESCRIBE_BYTES 16384
#define KEPT_BYTES ((size_t)384 << 20) /* inputs and truths of a group */
#define CONTEXTS 32                    /* kept at a time */
#define ONCE_ELEMENTS 65536

const int trial_poison[TRIAL_RUNS] = {0xFF, 0xA5, 0x3C, 0x5B};

bool trial_fail(trial *t, const char *check, const char *format, ...)
{
    correct_result *r = t->result;
    va_list list;
    va_start(list, format);
    vsnprintf(r->detail, sizeof r->detail, format, list);
    va_end(list);
    r->check = check;
    return false;
}

bool trial_fail_in(trial *t, const char *check, const char *what)
{
    return trial_fail(t, check, "%s: %s", t->call.text, what);
}

static size_t bytes_of(const DLTensor *tensor)
{
    return (size_t)(truth_numel(tensor) * truth_size(tensor->dtype));
}

/* --- plans ---------------------------------------------------------------- */

/* The plan's one launch must be of the kernel that is on trial. */
static bool check_kernel(trial *t, const kiln_plan *plan)
{
    char want[256];
    char *text = malloc(DESCRIBE_BYTES);
    if (!text)
        return trial_fail_in(t, "memory", "no memory to describe the plan");
    kiln_status status = kiln_plan_describe(plan, text, DESCRIBE_BYTES);
    snprintf(want, sizeof want, "\n  kernel %s,", t->kernel->symbol);
    const char *launch = strstr(text, "\n  kernel ");
    bool same = status == KILN_OK && launch &&
                strncmp(launch, want, strlen(want)) == 0 &&
                !strstr(launch + 1, "\n  kernel ");
    if (!same)
        trial_fail(t, "kernel", "%s: another kernel would run: %.60s",
                   t->call.text, launch ? launch + 3 : "none");
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

kiln_plan *trial_plan(trial *t, kiln_context *context,
                      const DLTensor *const *list, void *stream)
{
    const call *c = &t->call;
    kiln_plan *plan = NULL;
    if (kiln_plan_create(&plan, context, c->op, list, c->n_tensors, c->attrs,
                         c->n_attrs) != KILN_OK ||
        kiln_plan_prepare(plan, stream) != KILN_OK) {
        trial_fail_in(t, "plan", kiln_last_error());
        kiln_plan_destroy(plan);
        return NULL;
    }
    if (has_elements(t) && !check_kernel(t, plan)) {
        kiln_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

/* --- outputs -------------------------------------------------------------- */

bool trial_take(trial *t, int i, int poison, char *dense)
{
    const DLTensor *y = t->call.list[i];
    const guard *g = &t->buffers.guards[i];
    int64_t at;
    call_gather(y, dense);
    call_paint(y, poison);
    if (!guard_find_other(g, poison, &at))
        return true;
    return trial_fail(t, "stray write", "%s: %s: byte %lld of its buffer",
                      t->call.text, t->call.tensors[i].name, (long long)at);
}

static bool judge_output(trial *t, int i)
{
    correct_result *r = t->result;
    DLTensor y = *t->call.list[i];
    judge_report report;
    y.data = t->bits[i];
    y.byte_offset = 0;
    y.strides = NULL;
    judge_tensor(&y, t->sample->truth[i], &t->limits, &report);
    r->elements += report.elements;
    if (report.share >= r->error && report.elements > 0) {
        r->error = report.share;
        snprintf(r->worst, sizeof r->worst, "%s[%lld]", t->call.text,
                 (long long)report.index);
    }
    if (report.share <= 1)
        return true;
    if (report.index < 0)
        return trial_fail(t, "l2", "%s: %s: l2 error %.3g, limit %.3g",
                          t->call.text, t->call.tensors[i].name, report.l2,
                          t->limits.l2);
    return trial_fail(
        t, "truth",
        "%s: %s[%lld] is %.17g, truth %.17g, %.3g of the limit; %lld "
        "NaN and %lld infinities differ",
        t->call.text, t->call.tensors[i].name, (long long)report.index,
        report.got, report.want, report.share, (long long)report.nan_mismatches,
        (long long)report.inf_mismatches);
}

bool trial_judge(trial *t)
{
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (!judge_output(t, i))
            return false;
    return true;
}

bool trial_same(trial *t, const char *check)
{
    for (int i = t->n_in; i < t->n_in + t->n_out; i++)
        if (memcmp(t->bits[i], t->again[i], bytes_of(t->call.list[i])) != 0)
            return trial_fail_in(t, check, "two runs differ");
    return true;
}

/* --- calls ---------------------------------------------------------------- */

static bool make_outputs(trial *t)
{
    for (int i = t->n_in; i < t->n_in + t->n_out; i++) {
        size_t bytes = bytes_of(t->call.list[i]) + 1;
        t->bits[i] = malloc(bytes);
        t->again[i] = malloc(bytes);
        if (!t->bits[i] || !t->again[i])
            return trial_fail_in(t, "memory", "no memory for outputs");
    }
    return true;
}

static void drop_outputs(trial *t)
{
    for (int i = 0; i < CALL_MAX_TENSORS; i++) {
        free(t->bits[i]);
        free(t->again[i]);
        t->bits[i] = t->again[i] = NULL;
    }
}

static bool parse_call(trial *t, const char *text)
{
    char why[CORRECT_TEXT];
    if (!call_parse(&t->call, text, why, sizeof why))
        return trial_fail(t, "call", "%s", why);
    if (strcmp(t->call.op, t->kernel->op) != 0)
        return trial_fail_in(t, "call", "it calls another op");
    if (t->call.n_tensors != t->n_in + t->n_out)
        return trial_fail_in(t, "call",
                             "another number of tensors than the truth");
    for (int i = t->n_in; i < t->call.n_tensors; i++)
        if (!t->call.list[i])
            return trial_fail_in(t, "call", "an output is absent");
    return true;
}

/* On the cpu the call's number. Where kernels share samples, a hash of the
 * call's text (FNV-1a), which has another number in each one's list. */
static uint64_t seed_of(const trial *t, int number)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (t->way == &trial_cpu)
        return (uint64_t)number;
    for (const char *at = t->call.text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash >> 16;
}

static bool run_case(trial *t, int number, int set)
{
    samples *kept = &t->correct->samples;
    const char *why;
    if (!t->way->place(t, set))
        return false;
    t->sample = samples_take(kept, &t->call, &t->buffers, t->n_in,
                             seed_of(t, number), set, trial_poison[0], &why);
    if (!t->sample)
        return trial_fail_in(t, "truth", why);
    bool good = make_outputs(t) && t->way->run(t);
    drop_outputs(t);
    samples_give(t->sample);
    t->result->cases += good;
    return good;
}

static bool run_call(trial *t, int number, int most, char *note, size_t cap)
{
    bool good = parse_call(t, t->kernel->calls[number]);
    if (!good)
        return false;
    int sets = sample_sets(&t->call, t->n_in);
    sets = sets < most ? sets : most;
    for (int set = 0; good && set < sets; set++) {
        snprintf(note, cap, "set %d of %s", set, t->call.text);
        good = run_case(t, number, set);
    }
    t->way->end_call(t);
    return good;
}

/* --- kernels -------------------------------------------------------------- */

/* Elements times the smallest dim of the call's largest tensor: much work, and
 * no rows of one element. */
static int64_t weigh_call(const call *c, int64_t *elements)
{
    int64_t weight = 0;
    int64_t most = -1;
    *elements = 0;
    for (int i = 0; i < c->n_tensors; i++) {
        const DLTensor *x = c->list[i];
        int64_t n = x ? truth_numel(x) : -1;
        int64_t least = n;
        *elements += n > 0 ? n : 0;
        for (int d = 0; x && d < x->ndim; d++)
            least = x->shape[d] < least ? x->shape[d] : least;
        if (n > most) {
            most = n;
            weight = n * least;
        }
    }
    return weight;
}

/* One call for a tool that slows kernels down. */
static int pick_call(trial *t)
{
    char why[CORRECT_TEXT];
    int64_t best = -1;
    int picked = 0;
    for (int i = 0; i < t->kernel->n_calls; i++) {
        int64_t n;
        if (!call_parse(&t->call, t->kernel->calls[i], why, sizeof why))
            continue;
        int64_t weight = weigh_call(&t->call, &n);
        if (weight > best && (n <= ONCE_ELEMENTS || best < 0)) {
            best = n <= ONCE_ELEMENTS ? weight : 0;
            picked = i;
        }
    }
    return picked;
}

static bool run_kernel(trial *t, char *note, size_t cap)
{
    char why[CORRECT_TEXT];
    const work_kernel *k = t->kernel;
    if (!judge_limits_parse(k->limits, &t->limits, why, sizeof why))
        return trial_fail(t, "limits", "%s", why);
    if (!truth_arity(k->op, &t->n_in, &t->n_out))
        return trial_fail(t, "truth", "tests/truth has no op %s", k->op);
    samples_turn_to(&t->correct->samples, k);
    if (!t->way->open(t))
        return false;
    if (t->way == &trial_cuda_once)
        return run_call(t, pick_call(t), 1, note, cap);
    bool good = true;
    for (int i = 0; good && i < k->n_calls; i++)
        good = run_call(t, i, SAMPLE_SETS, note, cap);
    return good;
}

static bool try_kernel(correct *c, const work_kernel *kernel,
                       const trial_way *way, correct_result *result, char *note,
                       size_t cap)
{
    trial *t = calloc(1, sizeof *t);
    *result = (correct_result){.check = ""};
    if (!t) {
        result->check = "memory";
        return true;
    }
    if (c->contexts.n >= CONTEXTS)
        contexts_close(&c->contexts);
    *note = '\0';
    t->correct = c;
    t->kernel = kernel;
    t->result = result;
    t->way = way;
    (void)run_kernel(t, note, cap);
    bool sound = !c->gpu.context || gpu_wait(&c->gpu);
    if (!sound)
        trial_fail(t, "crash", "%s, in %s", c->gpu.why, note);
    t->way->close(t);
    call_release(&t->buffers);
    free(t);
    return sound;
}

bool correct_run(correct *c, const work_kernel *kernel, correct_result *result,
                 char *note, size_t cap)
{
    bool cuda = contexts_is_cuda(kernel->tier);
    c->samples.most = cuda ? KEPT_BYTES : 0;
    return try_kernel(c, kernel, cuda ? &trial_cuda : &trial_cpu, result, note,
                      cap);
}

bool correct_run_once(correct *c, const work_kernel *kernel,
                      correct_result *result, char *note, size_t cap)
{
    return try_kernel(c, kernel, &trial_cuda_once, result, note, cap);
}

correct *correct_create(void)
{
    return calloc(1, sizeof(correct));
}

void correct_destroy(correct *c)
{
    if (!c)
        return;
    contexts_close(&c->contexts);
    for (int i = 0; i < CALL_MAX_TENSORS && c->gpu.context; i++)
        gpu_drop(&c->gpu, &c->mirrors[i].memory);
    if (c->gpu.context)
        gpu_drop(&c->gpu, &c->workspace.memory);
    gpu_close(&c->gpu);
    samples_release(&c->samples);
    free(c);
}
