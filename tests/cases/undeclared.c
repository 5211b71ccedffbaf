/* undeclared.c: dispatch-is-complete, the other half: of every op, every
 * combination of ten dtypes of its tensors. What PyTorch's contract of the op
 * allows, as forms.c states it, is planned; anything else is refused, and the
 * text names op, tensor and dtype.
 */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "forms.h"

#define ALL 10

static const char *const all_dtypes[ALL] = {
    "bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};

typedef struct count {
    long planned;
    long refused;
    char problem[2048];
} count;

static bool is_declared(const form *f, const char *const *dtypes)
{
    const char *allowed[FORMS_TENSORS];
    const int choices = forms_pick_dtypes(f, 0, allowed);

    for (int choice = 0; choice < choices; choice++) {
        bool same = true;

        forms_pick_dtypes(f, choice, allowed);
        for (int i = 0; i <= forms_inputs(f); i++) {
            same = same && strcmp(allowed[i], dtypes[i]) == 0;
        }
        if (same) {
            return true;
        }
    }
    return false;
}

static bool fail(count *n, const char *text, const char *what)
{
    snprintf(n->problem, sizeof n->problem, "%.300s: %s: %.1000s", text, what,
             kiln_last_error());
    return false;
}

/* The text names the op and one of the dtypes. */
static bool is_clear(const form *f, const char *const *dtypes)
{
    char lead[64];
    const char *text = kiln_last_error();

    snprintf(lead, sizeof lead, "op %s: tensor ", f->op);
    if (strncmp(text, lead, strlen(lead)) != 0 || !strstr(text, "is none of")) {
        return false;
    }
    for (int i = 0; i <= forms_inputs(f); i++) {
        char word[64];
        snprintf(word, sizeof word, "%s: dtype %s ", forms_name(f, i),
                 dtypes[i]);
        if (strstr(text, word)) {
            return true;
        }
    }
    return false;
}

static bool check_combination(count *n, kiln_context *ctx, const form *f,
                              const char *const *dtypes, const char *view)
{
    char text[CALL_TEXT], why[512];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", f->op);
    kiln_plan *plan = NULL;
    kiln_status status;
    call c;

    for (int i = 0; i <= forms_inputs(f); i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s%s",
                                 forms_name(f, i), dtypes[i], view);
    }
    if (!call_parse(&c, text, why, sizeof why)) {
        return fail(n, text, why);
    }
    status = kiln_plan_create(&plan, ctx, c.op, c.list, c.n_tensors, NULL, 0);
    kiln_plan_destroy(plan);
    if (is_declared(f, dtypes)) {
        n->planned++;
        return status == KILN_OK || fail(n, text, "declared, but refused");
    }
    n->refused++;
    return status == KILN_INVALID_ARGUMENT && !plan && is_clear(f, dtypes)
               ? true
               : fail(n, text, kiln_status_name(status));
}

static bool check_form(count *n, kiln_context *ctx, const form *f)
{
    static const char *const views[] = {"[6,5]", "[6,5]:[9,1]", "[6,5]:[21,4]"};
    int combinations = 1;

    for (int i = 0; i <= forms_inputs(f); i++) {
        combinations *= ALL;
    }
    for (int i = 0; i < 3 * combinations; i++) {
        const char *dtypes[FORMS_TENSORS];
        int rest = i / 3;

        for (int t = 0; t <= forms_inputs(f); t++, rest /= ALL) {
            dtypes[t] = all_dtypes[rest % ALL];
        }
        if (!check_combination(n, ctx, f, dtypes, views[i % 3])) {
            return false;
        }
    }
    return true;
}

void cases_undeclared(tally *all)
{
    kiln_context *ctx = cases_context("base", 1);

    for (int f = 0; f < n_forms; f++) {
        count n = {.planned = 0};
        char name[160];
        bool good = check_form(&n, ctx, &forms[f]);

        snprintf(name, sizeof name,
                 "dispatch-is-complete: dtypes of %s: %ld planned, %ld refused "
                 "by name",
                 forms[f].op, n.planned, n.refused);
        tally_add(all, good && n.planned > 0 && n.refused > 0, name, n.problem);
    }
    kiln_context_destroy(ctx);
}
