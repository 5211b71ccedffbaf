/* refusals.c: calls that are wrong, on the built library: each gets its status
 * and a text that names what is wrong, and writes nothing; calls that only
 * look wrong are right.
 */
#include <stdio.h>
#include <string.h>

#include "refusals.h"

static bool is_large(const trial *t)
{
    return truth_numel(t->call.list[0]) > 100000;
}

/* Metadata alone where the call is past all buckets. */
static kiln_status try_call(setting *s, bool large)
{
    const call *c = &s->trial.call;
    kiln_plan *plan = NULL;
    kiln_status status;

    if (!large) {
        return kiln_run(s->ctx, c->op, c->list, c->n_tensors, s->attrs,
                        s->n_attrs, NULL);
    }
    status = kiln_plan_create(&plan, s->ctx, c->op, c->list, c->n_tensors,
                              s->attrs, s->n_attrs);
    kiln_plan_destroy(plan);
    return status;
}

static bool open_refusal(setting *s, const refusal *r, bool *large)
{
    trial *t = &s->trial;
    char why[512];

    s->n_attrs = 0;
    if (!call_parse(&t->call, r->call, why, sizeof why)) {
        return trial_fail(t, "%s", why);
    }
    *large = is_large(t);
    if (!*large) {
        if (!trial_open(t, r->call, false)) {
            return false;
        }
        trial_fill(t, 1);
    }
    return true;
}

static bool check_untouched(setting *s, const guard *output)
{
    int64_t at;

    return !guard_find_other(output, CASES_POISON, &at) ||
           trial_fail(&s->trial, "not served, but byte %lld was written",
                      (long long)at);
}

static bool check_refusal(setting *s, const refusal *r)
{
    trial *t = &s->trial;
    bool large = false;

    if (!open_refusal(s, r, &large)) {
        return false;
    }
    const guard *output = &t->buffers.guards[t->call.n_tensors - 1];
    if (r->change) {
        r->change(s);
    }
    const bool judged =
        !large && r->status == KILN_OK && truth_numel(trial_output(t)) > 0;
    if (judged && !trial_truth(t)) {
        return false;
    }
    kiln_status status = try_call(s, large);
    if (status != r->status) {
        return trial_fail(t, "%s: %s", kiln_status_name(status),
                          status == KILN_OK ? "" : kiln_last_error());
    }
    for (int i = 0; i < 3 && r->texts[i]; i++) {
        if (!strstr(kiln_last_error(), r->texts[i])) {
            return trial_fail(t, "\"%s\" lacks \"%s\"", kiln_last_error(),
                              r->texts[i]);
        }
    }
    if (judged) {
        call_gather(trial_output(t), t->got);
        return trial_judge(t);
    }
    return large || status == KILN_OK || check_untouched(s, output);
}

void cases_refusals(tally *all)
{
    setting s = {.ctx = cases_context(NULL, 2)};

    for (int i = 0; i < n_refusals; i++) {
        char name[128];
        bool good = check_refusal(&s, &refusals[i]);

        snprintf(name, sizeof name, "%s: %s",
                 refusals[i].status == KILN_OK ? "served" : "refused",
                 refusals[i].name);
        tally_add(all, good, name, s.trial.problem);
    }
    kiln_context_destroy(s.ctx);
    trial_close(&s.trial);
}
