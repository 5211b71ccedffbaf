#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct.h"
#include "cpu/cpu.h"
#include "json.h"
#include "timing.h"
#include "worker.h"

#define TIER "cpu"
#define TIMEOUT_S 120
#define KEYS_A_CHILD 512
#define BAD '!' /* first byte of a child's line that is not for the journal */

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

/* --- selection ------------------------------------------------------------ */

static void read_device(char *name, size_t cap)
{
    char line[512];
    FILE *in = fopen("/proc/cpuinfo", "r");
    snprintf(name, cap, "unknown");
    while (in && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(name, cap, "%.*s", (int)strcspn(colon, "\t\n"), colon);
        break;
    }
    if (in)
        fclose(in);
}

bool run_open(run *r)
{
    int most = r->worklist->n_kernels > r->worklist->n_keys
                   ? r->worklist->n_kernels
                   : r->worklist->n_keys;
    read_device(r->device, sizeof r->device);
    r->todo = malloc(((size_t)most + 1) * sizeof *r->todo);
    return r->todo != NULL;
}

void run_close(run *r)
{
    free(r->todo);
    r->todo = NULL;
}

static bool is_selected(run *r, const char *isa, const char *op,
                        const char *name)
{
    if (!worklist_has_op(r->ops, op) || (r->match && !strstr(name, r->match)))
        return false;
    if (*isa && !kiln_cpu_has(isa)) {
        r->absent++;
        return false;
    }
    r->selected++;
    return true;
}

/* --- lines ---------------------------------------------------------------- */

static void put_head(json *j, FILE *out, const char *kind, const char *isa)
{
    json_begin(j, out);
    json_text(j, "kind", kind);
    json_text(j, "tier", TIER);
    json_text(j, "isa", isa);
}

static void put_kernel(const run *r, FILE *out, const work_kernel *k,
                       const correct_result *result)
{
    json j;
    put_head(&j, out, "kernel", k->isa);
    json_text(&j, "kernel", k->symbol);
    json_text(&j, "op", k->op);
    json_text(&j, "config", k->config);
    json_text(&j, "hash", k->hash);
    json_int(&j, "cases", result->cases);
    json_int(&j, "elements", result->elements);
    json_real(&j, "error", result->error);
    json_text(&j, "worst", result->worst);
    json_text(&j, "status", *result->check ? "fail" : "pass");
    json_text(&j, "check", result->check);
    json_text(&j, "detail", result->detail);
    json_text(&j, "device", r->device);
    json_text(&j, "compiler", COMPILER);
    json_end(&j);
}

static void put_key(const run *r, FILE *out, const work_key *k,
                    const timing_result *result)
{
    json j;
    put_head(&j, out, "key", k->isa);
    json_text(&j, "key", k->key);
    json_text(&j, "ranges", k->ranges);
    json_text(&j, "op", k->op);
    json_text(&j, "config", result->config);
    json_real(&j, "us", result->us);
    json_real(&j, "spread", result->spread);
    json_int(&j, "rounds", result->rounds);
    json_text(&j, "call", k->call);
    json_text(&j, "device", r->device);
    json_text(&j, "compiler", COMPILER);
    json_text(&j, "status", result->same ? "pass" : "fail");
    json_end(&j);
}

/* In the parent: a line of a child. */
static void take_line(void *user, const char *line)
{
    run *r = user;
    char status[16];
    if (*line == BAD) {
        r->failed++;
        r->progress.failed++;
        progress_say(&r->progress, "%.*s", (int)strcspn(line + 1, "\n"),
                     line + 1);
        return;
    }
    if (json_find(line, "status", status, sizeof status) &&
        strcmp(status, "pass") != 0) {
        char name[256] = "", check[64] = "repeat", detail[2048] = "";
        r->failed++;
        r->progress.failed++;
        if (!json_find(line, "kernel", name, sizeof name))
            (void)json_find(line, "key", name, sizeof name);
        (void)json_find(line, "check", check, sizeof check);
        (void)json_find(line, "detail", detail, sizeof detail);
        progress_say(&r->progress, "%s: fails %s: %s", name, check, detail);
    }
    if (!journal_add(r->journal, line)) {
        r->broken = true;
        progress_say(&r->progress, "the journal cannot be written");
    }
}

/* --- kernels -------------------------------------------------------------- */

static void kernel_item(void *user, int64_t index, FILE *out, char *note)
{
    const run *r = user;
    const work_kernel *k = &r->worklist->kernels[r->todo[index]];
    correct_result result;
    correct_run(k, &result, note, WORKER_NOTE);
    put_kernel(r, out, k, &result);
}

/* The line that a crashed child did not get to write. */
static bool note_crash(run *r, const work_kernel *k, const char *why)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    correct_result result = {.check = "crash", .error = 1e300};
    if (!out)
        return false;
    snprintf(result.detail, sizeof result.detail, "%s", why);
    put_kernel(r, out, k, &result);
    fclose(out);
    if (text)
        take_line(r, text);
    free(text);
    return text != NULL;
}

bool run_kernels(run *r)
{
    char why[CORRECT_TEXT];
    worker w = {kernel_item, take_line, NULL, r, TIMEOUT_S};
    r->n_todo = 0;
    for (int i = 0; i < r->worklist->n_kernels; i++) {
        const work_kernel *k = &r->worklist->kernels[i];
        if (!is_selected(r, k->isa, k->op, k->symbol))
            continue;
        journal_state state = journal_kernel(r->journal, k->isa, k->symbol);
        r->failed += state == JOURNAL_FAILED;
        if (state == JOURNAL_ABSENT)
            r->todo[r->n_todo++] = i;
    }
    r->progress = progress_begin("kernels", r->n_todo);
    for (int64_t i = 0; i < r->n_todo && !r->broken; i++) {
        int64_t reached = worker_run(&w, i, i + 1, why, sizeof why);
        if (reached == i)
            r->broken |= !note_crash(r, &r->worklist->kernels[r->todo[i]], why);
        r->broken |= reached < 0;
        progress_tick(&r->progress, i + 1);
    }
    progress_end(&r->progress, r->n_todo);
    return !r->broken;
}

/* --- keys ----------------------------------------------------------------- */

/* What one child needs; made in it, by its first item. */
typedef struct key_child {
    run *run;
    timing *timing;
    FILE *out;
} key_child;

static void take_time(void *user, const work_key *key,
                      const timing_result *result)
{
    const key_child *c = user;
    put_key(c->run, c->out, key, result);
}

static void key_item(void *user, int64_t index, FILE *out, char *note)
{
    key_child *c = user;
    char why[TIMING_TEXT] = "no memory";
    int skipped = 0;
    const work_key *k = &c->run->worklist->keys[c->run->todo[index]];
    snprintf(note, WORKER_NOTE, "%s", k->call);
    if (!c->timing)
        c->timing = timing_create(c->run->journal);
    c->out = out;
    if (!c->timing ||
        !timing_key(c->timing, k, take_time, c, &skipped, why, sizeof why)) {
        why[strcspn(why, "\n")] = '\0';
        fprintf(out, "%c%s, isa %s: %s\n", BAD, k->key, k->isa, why);
    } else if (skipped == k->n_configs) {
        fprintf(out, "%c%s, isa %s: no config's kernel has passed\n", BAD,
                k->key, k->isa);
    }
}

static void take_key_line(void *user, const char *line)
{
    const key_child *c = user;
    take_line(c->run, line);
}

static void tick_key(void *user, int64_t index)
{
    const key_child *c = user;
    progress_tick(&c->run->progress, index);
}

static bool key_is_done(const run *r, const work_key *k)
{
    for (int i = 0; i < k->n_configs; i++)
        if (journal_key(r->journal, k->isa, k->key, k->configs[i]) ==
            JOURNAL_ABSENT)
            return false;
    return true;
}

/* One child from key `first` on; the index of the next key to do. */
static int64_t run_chunk(run *r, int64_t first)
{
    char why[TIMING_TEXT];
    key_child child = {r, NULL, NULL};
    worker w = {key_item, take_key_line, tick_key, &child, TIMEOUT_S};
    int64_t last = first + KEYS_A_CHILD;
    last = last < r->n_todo ? last : r->n_todo;
    int64_t reached = worker_run(&w, first, last, why, sizeof why);
    if (reached < 0) {
        r->broken = true;
        return r->n_todo;
    }
    if (reached == last)
        return last;
    r->failed++;
    r->progress.failed++;
    progress_say(&r->progress, "%s: crash: %s",
                 r->worklist->keys[r->todo[reached]].key, why);
    return reached + 1;
}

bool run_keys(run *r)
{
    r->n_todo = 0;
    for (int i = 0; i < r->worklist->n_keys; i++) {
        const work_key *k = &r->worklist->keys[i];
        if (is_selected(r, k->isa, k->op, k->key) && !key_is_done(r, k))
            r->todo[r->n_todo++] = i;
    }
    r->progress = progress_begin("keys", r->n_todo);
    for (int64_t i = 0; i < r->n_todo && !r->broken;) {
        i = run_chunk(r, i);
        progress_tick(&r->progress, i);
    }
    progress_end(&r->progress, r->n_todo);
    return !r->broken;
}
