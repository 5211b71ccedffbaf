/* same.c: the bits of a result depend on the inputs alone: not on the number
 * of threads, nor on where the tensors start, nor on what the output held
 * before. All ops, dtypes and layouts, with NaN, infinities and subnormals.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "forms.h"

#define ROOM 256 /* bytes past a tensor, for other starts */
#define THREADS 4

static const int thread_counts[THREADS] = {1, 2, 3, 8};

/* Dims and strides of [3, 50] and [37, 515]: row-major, rows apart, elements
 * apart, transposed. The larger takes several threads. */
#define VIEWS 8
static const char *const views[VIEWS] = {
    "[3,50]",   "[3,50]:[57,1]",    "[3,50]:[101,2]",    "[3,50]:[1,3]",
    "[37,515]", "[37,515]:[519,1]", "[37,515]:[1033,2]", "[37,515]:[1,37]",
};

typedef struct sameness {
    kiln_context *contexts[THREADS];
    trial trial;
    char *first; /* bits of the first run */
    size_t bytes;
    long runs;
} sameness;

static void call_text(const form *f, const char *const *dtypes,
                      const char *view, const char *out_view, int attr, int dim,
                      char *text, size_t cap)
{
    const int n = forms_inputs(f);
    size_t used = (size_t)snprintf(text, cap, "%s", f->op);

    for (int i = 0; i <= n; i++) {
        used += (size_t)snprintf(text + used, cap - used, " %s=%s%s",
                                 forms_name(f, i), dtypes[i],
                                 i == n ? out_view : view);
    }
    used += (size_t)snprintf(text + used, cap - used, "%s", f->attrs[attr]);
    if (f->kind == FORM_ROWS) {
        (void)snprintf(text + used, cap - used, " dim=%d", dim);
    }
}

/* Tensors start `shift` elements past their buffers' bases. */
static bool place(sameness *s, const int *shifts)
{
    call *c = &s->trial.call;

    for (int i = 0; i < c->n_tensors; i++) {
        DLTensor *t = &c->tensors[i].tensor;
        int64_t low, high;
        call_extent(t, &low, &high);
        char *base =
            guard_place(&s->trial.buffers.guards[i], 0, high + ROOM, false);
        if (!base) {
            return trial_fail(&s->trial, "no memory");
        }
        t->data = base + shifts[i] * truth_size(t->dtype);
    }
    for (int i = 0; i < c->n_tensors - 1; i++) {
        guard_fill(&s->trial.buffers.guards[i], CASES_POISON);
        fill_special(c->list[i], 11 + (uint64_t)i);
    }
    return true;
}

/* byte < 0: the output holds what it held. */
static bool run(sameness *s, int threads, int byte, const char *what)
{
    trial *t = &s->trial;
    DLTensor *y = trial_output(t);
    kiln_plan *plan = trial_plan(t, s->contexts[threads]);
    bool good = plan != NULL;

    if (good && byte >= 0) {
        guard_fill(&t->buffers.guards[t->call.n_tensors - 1], byte);
    }
    if (good && kiln_plan_enqueue(plan, NULL, NULL, NULL) != KILN_OK) {
        good = trial_fail(t, "%s", kiln_last_error());
    }
    kiln_plan_destroy(plan);
    if (!good) {
        return false;
    }
    s->runs++;
    call_gather(y, t->got);
    if (s->bytes == 0) {
        s->bytes = (size_t)(truth_numel(y) * truth_size(y->dtype));
        memcpy(s->first, t->got, s->bytes);
        return true;
    }
    for (size_t i = 0; i < s->bytes; i++) {
        if (s->first[i] != t->got[i]) {
            return trial_fail(t, "other bits with %s: byte %zu, element %zu",
                              what, i, i / (size_t)truth_size(y->dtype));
        }
    }
    return true;
}

/* All tensors alike, then each on its own. */
static bool check_starts(sameness *s)
{
    static const int by[] = {1, 2, 3, 4, 5, 7, 8, 13, 16};
    const int n = s->trial.call.n_tensors;

    for (int i = 0; i < (int)(sizeof by / sizeof *by) + n; i++) {
        const int count = (int)(sizeof by / sizeof *by);
        int shifts[FORMS_TENSORS] = {0};
        char what[64];

        for (int k = 0; k < n && i < count; k++) {
            shifts[k] = by[i];
        }
        if (i >= count) {
            shifts[i - count] = 1;
        }
        snprintf(what, sizeof what, "tensors %d %d %d %d elements on",
                 shifts[0], shifts[1], shifts[2], shifts[3]);
        if (!place(s, shifts) || !run(s, i % THREADS, CASES_POISON, what)) {
            return false;
        }
    }
    return true;
}

static bool check_call(sameness *s, const char *text)
{
    static const int before[] = {0xFF, 0x00, 0xA5, 0x7F, -1};
    static const int none[FORMS_TENSORS] = {0};
    trial *t = &s->trial;

    s->bytes = 0;
    if (!trial_open(t, text, false) || !place(s, none)) {
        return false;
    }
    s->first = realloc(s->first, t->room * sizeof(double) + 1);
    if (!s->first) {
        return trial_fail(t, "no memory");
    }
    for (int i = 0; i < (int)(sizeof before / sizeof *before); i++) {
        char what[64];
        snprintf(what, sizeof what, "an output that held %d", before[i]);
        if (!run(s, 0, before[i], what)) {
            return false;
        }
    }
    for (int i = 1; i < THREADS; i++) {
        char what[64];
        snprintf(what, sizeof what, "%d threads", thread_counts[i]);
        for (int k = 0; k < 3; k++) {
            if (!run(s, i, before[k], what)) {
                return false;
            }
        }
    }
    return check_starts(s);
}

/* Every layout of the inputs with a row-major output, and with one alike. */
static bool check_form(sameness *s, const form *f)
{
    const char *dtypes[FORMS_TENSORS];
    const int choices = forms_pick_dtypes(f, 0, dtypes);

    for (int choice = 0; choice < choices; choice++) {
        for (int i = 0; i < 2 * VIEWS; i++) {
            const int view = i / 2;
            char text[CALL_TEXT];

            forms_pick_dtypes(f, choice, dtypes);
            for (int attr = 0; attr < 3 && f->attrs[attr]; attr++) {
                call_text(f, dtypes, views[view],
                          views[i % 2 ? view : view / 4 * 4], attr,
                          (choice + view) % 2, text, sizeof text);
                if (!check_call(s, text)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool open_contexts(sameness *s, const char *isa)
{
    for (int i = 0; i < THREADS; i++) {
        s->contexts[i] = cases_context(isa, thread_counts[i]);
    }
    return s->contexts[0] != NULL;
}

void cases_same(tally *all)
{
    for (const char *const *isa = cases_isas; *isa; isa++) {
        sameness s = {.bytes = 0};

        for (int f = 0; open_contexts(&s, *isa) && f < n_forms; f++) {
            char name[128];
            s.runs = 0;
            bool good = check_form(&s, &forms[f]);
            snprintf(name, sizeof name, "same bits: %s on %s, %ld runs",
                     forms[f].op, *isa, s.runs);
            tally_add(all, good, name, s.trial.problem);
            for (int i = 0; i < THREADS; i++) {
                kiln_context_destroy(s.contexts[i]);
            }
        }
        trial_close(&s.trial);
        free(s.first);
    }
}
