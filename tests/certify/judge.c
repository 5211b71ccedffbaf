#include "judge.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN 1024
#define THREAD_ELEMENTS 65536

/* --- limits ------------------------------------------------------------- */

static double *limit_named(judge_limits *limits, const char *name, size_t n)
{
    if (n == 3 && strncmp(name, "ulp", n) == 0)
        return &limits->ulp;
    if (n == 3 && strncmp(name, "abs", n) == 0)
        return &limits->abs;
    if (n == 2 && strncmp(name, "l2", n) == 0)
        return &limits->l2;
    return NULL;
}

/* One "name=value"; NULL on failure, else what follows it. */
static const char *limit_parse(const char *text, judge_limits *limits)
{
    size_t n = strcspn(text, "=;");
    double *limit = limit_named(limits, text, n);
    if (!limit || text[n] != '=')
        return NULL;
    const char *value = text + n + 1;
    if (*value == ';' || *value == '\0')
        return value;
    char *end;
    *limit = strtod(value, &end);
    bool good = end != value && *limit >= 0 && isfinite(*limit);
    return good && (*end == ';' || *end == '\0') ? end : NULL;
}

bool judge_limits_parse(const char *text, judge_limits *limits, char *why,
                        size_t cap)
{
    *limits = (judge_limits){-1, -1, -1};
    const char *at = text;
    while (*at) {
        const char *next = limit_parse(at, limits);
        if (!next) {
            snprintf(why, cap,
                     "limits \"%s\": \"%.*s\" is not ulp=, abs= or l2= and a "
                     "number",
                     text, (int)strcspn(at, ";"), at);
            return false;
        }
        at = next + (*next == ';');
    }
    if (limits->ulp < 0 && limits->abs < 0) {
        snprintf(why, cap, "limits \"%s\": neither ulp nor abs", text);
        return false;
    }
    return true;
}

/* --- elements ----------------------------------------------------------- */

typedef struct part {
    judge_report report;
    long double error_squares;
    long double want_squares;
} part;

typedef struct job {
    const DLTensor *got;
    const double *want;
    judge_limits limits;
    bool is_float;
    long double beyond; /* the number after the dtype's largest */
    part parts[2];      /* of the two threads */
} job;

static bool is_float(DLDataType type)
{
    return type.code == kDLFloat || type.code == kDLBfloat;
}

static int precision(DLDataType type)
{
    if (type.code == kDLBfloat)
        return 8;
    return type.bits == 16 ? 11 : type.bits == 32 ? 24 : 53;
}

/* Absolute error of a number against a number; INFINITY for one that no limit
 * may pass. `want` is neither NaN nor, rounded, equal to got. */
static double error_of(const job *j, double got, double want)
{
    if (isinf(want))
        return INFINITY;
    if (!isinf(got))
        return fabs(got - want);
    if ((got < 0) != (want < 0))
        return INFINITY;
    return (double)(j->beyond - fabsl((long double)want));
}

static void note(part *p, int64_t index, double share, double got, double want)
{
    judge_report *r = &p->report;
    if (share <= r->share)
        return;
    r->share = share;
    r->index = index;
    r->got = got;
    r->want = want;
}

static void raise_to(double *most, double value)
{
    *most = value > *most ? value : *most;
}

static double allowed_error(const judge_limits *limits, double unit)
{
    double by_ulp = limits->ulp < 0 ? 0 : (limits->ulp + 0.5) * unit;
    return by_ulp > limits->abs ? by_ulp : limits->abs;
}

static double share_of(double error, double allowed)
{
    if (error == 0)
        return 0;
    return allowed > 0 ? error / allowed : INFINITY;
}

/* NaN, infinities and integers: no magnitudes to report. true: done. */
static bool judge_special(const job *j, part *p, int64_t index, double got,
                          double want)
{
    if (isnan(got) || isnan(want)) {
        bool same = isnan(got) && isnan(want);
        p->report.nan_mismatches += !same;
        note(p, index, same ? 0 : INFINITY, got, want);
        return true;
    }
    if (!j->is_float) {
        note(p, index, got == want ? 0 : INFINITY, got, want);
        return true;
    }
    return false;
}

static void judge_element(const job *j, part *p, int64_t index, double got,
                          double want)
{
    if (judge_special(j, p, index, got, want))
        return;
    DLDataType type = j->got->dtype;
    double rounded = truth_round(type, want);
    if (isinf(rounded) && got == rounded)
        return;
    double unit = truth_ulp(type, want);
    double error = error_of(j, got, want);
    double share = share_of(error, allowed_error(&j->limits, unit));
    note(p, index, share, got, want);
    if (isinf(got) || isinf(want)) {
        p->report.inf_mismatches += share > 1;
        return;
    }
    raise_to(&p->report.max_abs, error);
    raise_to(&p->report.max_ulp, error / unit);
    if (j->limits.l2 >= 0 && !isinf(rounded)) {
        long double off = (long double)got - rounded;
        p->error_squares += off * off;
        p->want_squares += (long double)want * want;
    }
}

/* --- tensors ------------------------------------------------------------ */

static int64_t last_stride(const DLTensor *t)
{
    return t->strides && t->ndim ? t->strides[t->ndim - 1] : 1;
}

static void judge_range(void *user, int64_t first, int64_t last)
{
    job *j = user;
    part *mine = &j->parts[first > 0];
    part p = *mine; /* apart from the other thread's cache line */
    const DLTensor *t = j->got;
    int64_t width = t->ndim ? t->shape[t->ndim - 1] : 1;
    double got[RUN];
    while (first < last) {
        int64_t n = width - first % width;
        n = n < RUN ? n : RUN;
        n = n < last - first ? n : last - first;
        const char *from = (const char *)t->data + t->byte_offset +
                           truth_offset(t, first) * truth_size(t->dtype);
        truth_read_run(t->dtype, from, last_stride(t), n, got);
        for (int64_t i = 0; i < n; i++)
            judge_element(j, &p, first + i, got[i], j->want[first + i]);
        first += n;
    }
    *mine = p;
}

static void join(part *a, const part *b)
{
    note(a, b->report.index, b->report.share, b->report.got, b->report.want);
    raise_to(&a->report.max_abs, b->report.max_abs);
    raise_to(&a->report.max_ulp, b->report.max_ulp);
    a->report.nan_mismatches += b->report.nan_mismatches;
    a->report.inf_mismatches += b->report.inf_mismatches;
    a->error_squares += b->error_squares;
    a->want_squares += b->want_squares;
}

static void judge_l2(part *p, double limit)
{
    long double error = sqrtl(p->error_squares);
    if (error == 0)
        return;
    p->report.l2 = (double)(error / sqrtl(p->want_squares));
    note(p, -1, share_of(p->report.l2, limit), 0, 0);
}

void judge_tensor(const DLTensor *got, const double *want,
                  const judge_limits *limits, judge_report *report)
{
    assert(got && want && limits && report);
    assert(limits->ulp >= 0 || limits->abs >= 0);
    job j = {.got = got, .want = want, .limits = *limits};
    j.is_float = is_float(got->dtype);
    if (j.is_float)
        j.beyond = ldexpl((long double)truth_ulp(got->dtype, INFINITY),
                          precision(got->dtype));
    j.parts[0].report.index = j.parts[1].report.index = -1;
    int64_t n = truth_numel(got);
    truth_parallel(n, THREAD_ELEMENTS, judge_range, &j);
    join(&j.parts[0], &j.parts[1]);
    if (limits->l2 >= 0)
        judge_l2(&j.parts[0], limits->l2);
    *report = j.parts[0].report;
    report->elements = n;
}
