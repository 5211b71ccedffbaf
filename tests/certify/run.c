#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "json.h"
#include "lines.h"
#include "worker.h"

#define TIMEOUT_S 120
#define KEYS_A_CHILD 512
#define BAD '!' /* first byte of a child's line that is not for the journal */

/* --- selection ------------------------------------------------------------ */

bool run_open(run *r)
{
    int most = r->worklist->n_kernels > r->worklist->n_keys
                   ? r->worklist->n_kernels
                   : r->worklist->n_keys;
    r->todo = malloc(((size_t)most + 1) * sizeof *r->todo);
    r->edges = malloc(((size_t)most + 2) * sizeof *r->edges);
    return r->todo && r->edges && tiers_find(&r->tiers, r->worklist, r->once);
}

void run_close(run *r)
{
    free(r->todo);
    free(r->edges);
    r->todo = NULL;
    r->edges = NULL;
}

static const tier_facts *tier_of(const run *r, const char *name)
{
    return tiers_get(&r->tiers, name);
}

static bool is_selected(run *r, const char *tier, const char *isa,
                        const char *op, const char *name)
{
    const tier_facts *facts = tier_of(r, tier);
    if (!worklist_has_op(r->ops, op) || (r->match && !strstr(name, r->match)) ||
        (r->once && !facts->cuda))
        return false;
    if (!facts->present || (!facts->cuda && *isa && !kiln_cpu_has(isa))) {
        r->absent++;
        return false;
    }
    r->selected++;
    return true;
}

/* --- lines ---------------------------------------------------------------- */

static void note_failure(run *r, const char *line)
{
    char status[16], name[256] = "", check[64] = "repeat", detail[2048] = "";
    if (!json_find(line, "status", status, sizeof status) ||
        strcmp(status, "pass") == 0)
        return;
    r->failed++;
    r->progress.failed++;
    if (!json_find(line, "kernel", name, sizeof name))
        (void)json_find(line, "key", name, sizeof name);
    (void)json_find(line, "check", check, sizeof check);
    (void)json_find(line, "detail", detail, sizeof detail);
    progress_say(&r->progress, "%s: fails %s: %s", name, check, detail);
}

/* In the parent: a line of a child. */
static bool take_line(void *user, const char *line)
{
    run *r = user;
    if (*line == BAD) {
        r->failed++;
        r->progress.failed++;
        progress_say(&r->progress, "%.*s", (int)strcspn(line + 1, "\n"),
                     line + 1);
        return true;
    }
    note_failure(r, line);
    if (journal_add(r->journal, line))
        return true;
    r->broken = true;
    progress_say(&r->progress, "the journal cannot be written");
    return false;
}

static void tick(void *user, int64_t done)
{
    run *r = user;
    progress_tick(&r->progress, done);
}

/* All that is to do, in parts of the edges. */
static void run_parts(run *r, worker w, int64_t n_parts, const char *what)
{
    w.line = take_line;
    w.tick = tick;
    w.user = r;
    w.timeout_s = TIMEOUT_S;
    r->progress = progress_begin(what, r->n_todo);
    if (n_parts > 0 && !worker_run(&w, r->edges, n_parts))
        r->broken = true;
    progress_end(&r->progress, r->n_todo);
}

/* --- kernels -------------------------------------------------------------- */

static const work_kernel *kernel_at(const run *r, int64_t index)
{
    return &r->worklist->kernels[r->todo[index]];
}

static bool kernel_item(void *user, int64_t index, FILE *out, char *note)
{
    run *r = user;
    const work_kernel *k = kernel_at(r, index);
    correct_result result = {.check = "memory"};
    bool sound = true;
    if (!r->correct)
        r->correct = correct_create();
    if (r->correct)
        sound = (r->once ? correct_run_once : correct_run)(
            r->correct, k, &result, note, WORKER_NOTE);
    lines_put_kernel(out, tier_of(r, k->tier), k, &result);
    return sound;
}

/* The line that a crashed child did not get to write. */
static bool lose_kernel(void *user, int64_t index, const char *why)
{
    run *r = user;
    char *text = NULL;
    size_t n = 0;
    const work_kernel *k = kernel_at(r, index);
    FILE *out = open_memstream(&text, &n);
    correct_result result = {.check = "crash", .error = 1e300};
    if (!out)
        return false;
    snprintf(result.detail, sizeof result.detail, "%s", why);
    lines_put_kernel(out, tier_of(r, k->tier), k, &result);
    fclose(out);
    bool good = text && take_line(r, text);
    free(text);
    return good;
}

/* Without a child: a tool watches this process. */
static bool run_here(run *r)
{
    char note[WORKER_NOTE] = "";
    r->progress = progress_begin("kernels", r->n_todo);
    bool sound = true;
    for (int64_t i = 0; sound && !r->broken && i < r->n_todo; i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        r->broken = !out;
        if (out) {
            sound = kernel_item(r, i, out, note);
            fclose(out);
            r->broken = !text || !take_line(r, text);
        }
        free(text);
        progress_tick(&r->progress, i + 1);
    }
    progress_end(&r->progress, r->n_todo);
    correct_destroy(r->correct);
    r->correct = NULL;
    return sound && !r->broken;
}

/* On CUDA neighbours that share calls are a part. */
static int64_t cut_kernels(run *r)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->n_todo; i++) {
        const work_kernel *k = kernel_at(r, i);
        bool joins = i > 0 && tier_of(r, k->tier)->cuda &&
                     strcmp(k->tier, kernel_at(r, i - 1)->tier) == 0 &&
                     worklist_share_calls(k, kernel_at(r, i - 1));
        if (!joins)
            r->edges[n++] = i;
    }
    r->edges[n] = r->n_todo;
    return n;
}

bool run_kernels(run *r)
{
    worker w = {.item = kernel_item, .lost = lose_kernel, .jobs = r->jobs};
    r->n_todo = 0;
    for (int i = 0; i < r->worklist->n_kernels; i++) {
        const work_kernel *k = &r->worklist->kernels[i];
        if (!is_selected(r, k->tier, k->isa, k->op, k->symbol))
            continue;
        journal_state state = journal_kernel(r->journal, k);
        r->failed += state == JOURNAL_FAILED;
        w.fresh |= !tier_of(r, k->tier)->cuda;
        if (state == JOURNAL_ABSENT)
            r->todo[r->n_todo++] = i;
    }
    if (r->once)
        return run_here(r);
    run_parts(r, w, cut_kernels(r), "kernels");
    return !r->broken;
}

/* --- keys ----------------------------------------------------------------- */

static const work_key *key_at(const run *r, int64_t index)
{
    return &r->worklist->keys[r->todo[index]];
}

static void take_time(void *user, const work_key *key,
                      const timing_result *result)
{
    const run *r = user;
    lines_put_key(r->out, tier_of(r, key->tier), key, result);
}

static bool key_item(void *user, int64_t index, FILE *out, char *note)
{
    run *r = user;
    char why[TIMING_TEXT] = "no memory";
    int skipped = 0;
    const work_key *k = key_at(r, index);
    snprintf(note, WORKER_NOTE, "%s", k->call);
    if (!r->timing)
        r->timing = timing_create(r->journal);
    r->out = out;
    if (!r->timing ||
        !timing_key(r->timing, k, take_time, r, &skipped, why, sizeof why)) {
        why[strcspn(why, "\n")] = '\0';
        fprintf(out, "%c%s, isa %s: %s\n", BAD, k->key, k->isa, why);
    } else if (skipped == k->n_configs) {
        fprintf(out, "%c%s, isa %s: no config's kernel has passed\n", BAD,
                k->key, k->isa);
    }
    return !r->timing || timing_is_sound(r->timing);
}

static bool lose_key(void *user, int64_t index, const char *why)
{
    run *r = user;
    r->failed++;
    r->progress.failed++;
    progress_say(&r->progress, "%s: crash: %s", key_at(r, index)->key, why);
    return true;
}

static bool key_is_done(const run *r, const work_key *k)
{
    for (int i = 0; i < k->n_configs; i++)
        if (journal_key(r->journal, k, k->configs[i]) == JOURNAL_ABSENT)
            return false;
    return true;
}

/* One child at a time: times are taken on a quiet machine. */
bool run_keys(run *r)
{
    worker w = {.item = key_item, .lost = lose_key, .fresh = true};
    int64_t n = 0;
    r->n_todo = 0;
    for (int i = 0; i < r->worklist->n_keys; i++) {
        const work_key *k = &r->worklist->keys[i];
        if (!is_selected(r, k->tier, k->isa, k->op, k->key) ||
            key_is_done(r, k))
            continue;
        w.fresh &= !tier_of(r, k->tier)->cuda;
        r->todo[r->n_todo++] = i;
    }
    for (int64_t i = 0; i < r->n_todo; i += KEYS_A_CHILD)
        r->edges[n++] = i;
    r->edges[n] = r->n_todo;
    run_parts(r, w, n, "keys");
    return !r->broken;
}
