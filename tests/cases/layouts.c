/* layouts.c: key-distinguishes-layout-and-dtype: calls that differ in layout
 * or dtype alone, in every order of two, each against its own truth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define FORMS 5

/* Of one shape: f32 row-major, transposed, from element 1 on; f16; bf16. */
static const struct {
    const char *dtype;
    const char *view;
} forms[FORMS] = {
    {"f32", ""}, {"f32", ":[1,48]"}, {"f32", "+1"}, {"f16", ""}, {"bf16", ""},
};

static const struct {
    const char *op;
    const char *attrs;
    bool two; /* inputs */
} ops[] = {
    {"softmax", " dim=-1", false},
    {"softmax", " dim=0 log=true", false},
    {"log_softmax", " dim=-1", false},
    {"silu", "", false},
    {"relu", "", false},
    {"add", " alpha=0.5", true},
};

static void form_text(int op, int form, char *text, size_t cap)
{
    const char *dtype = forms[form].dtype;
    const char *view = forms[form].view;

    if (ops[op].two) {
        snprintf(text, cap, "%s a=%s[48,80]%s b=%s[48,80]%s y=%s[48,80]%s",
                 ops[op].op, dtype, view, dtype, view, dtype, ops[op].attrs);
    } else {
        snprintf(text, cap, "%s x=%s[48,80]%s y=%s[48,80]%s", ops[op].op, dtype,
                 view, dtype, ops[op].attrs);
    }
}

static bool open_forms(int op, trial *t)
{
    for (int i = 0; i < FORMS; i++) {
        char text[CALL_TEXT];

        form_text(op, i, text, sizeof text);
        if (!trial_open(&t[i], text, false)) {
            return false;
        }
        trial_fill(&t[i], (uint64_t)i);
        if (!trial_truth(&t[i])) {
            return false;
        }
    }
    return true;
}

/* The first call, the second, the first again. */
static bool check_pair(trial *first, trial *second, kiln_context *ctx)
{
    size_t bytes = (size_t)(truth_numel(trial_output(first)) *
                            truth_size(trial_output(first)->dtype));
    char *bits = malloc(bytes);
    bool good = bits && trial_run(first, ctx) && trial_judge(first);

    if (good) {
        memcpy(bits, first->got, bytes);
        good = trial_run(second, ctx) && trial_judge(second) &&
               trial_run(first, ctx) && trial_judge(first);
    }
    if (good && memcmp(bits, first->got, bytes) != 0) {
        good = trial_fail(first, "other bits the second time");
    }
    free(bits);
    return good;
}

static bool check_pairs(trial *t, const char *isa, char *problem, size_t cap)
{
    bool good = true;

    for (int i = 0; i < FORMS * FORMS && good; i++) {
        kiln_context *ctx = cases_context(isa, 2);
        trial *first = &t[i / FORMS], *second = &t[i % FORMS];

        good = !ctx || check_pair(first, second, ctx);
        kiln_context_destroy(ctx);
        if (!good) {
            snprintf(problem, cap, "%.1000s %.1000s", first->problem,
                     second->problem);
        }
    }
    return good;
}

void cases_layouts(tally *all)
{
    for (size_t op = 0; op < sizeof ops / sizeof *ops; op++) {
        trial t[FORMS] = {{.room = 0}};
        char name[128], problem[2100] = "the calls cannot be made";
        bool good = open_forms((int)op, t);

        for (const char *const *isa = cases_isas; *isa && good; isa++) {
            good = check_pairs(t, *isa, problem, sizeof problem);
        }
        snprintf(name, sizeof name, "key-distinguishes-layout-and-dtype: %s%s",
                 ops[op].op, ops[op].attrs);
        tally_add(all, good, name, problem);
        for (int i = 0; i < FORMS; i++) {
            trial_close(&t[i]);
        }
    }
}
