#define _GNU_SOURCE
#include "tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "internal.h"
#include "worker.h"

#define TIMEOUT_S 120
#define BAD '!' /* first byte of a child's line that says why not */

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

/* The release of nvcc that made the modules. */
#ifndef KILN_NVCC
#define KILN_NVCC "none"
#endif

static void read_processor(char *name, size_t cap)
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

/* --- CUDA, in a child ----------------------------------------------------- */

/* "0NAME" or, forced, "1NAME". */
static bool ask(void *user, int64_t index, FILE *out, char *note)
{
    const tier_facts *f = user;
    char why[sizeof f->why - 1] = "";
    (void)index;
    snprintf(note, WORKER_NOTE, "tier %s", f->name);
    kiln_context *c = contexts_open(f->name, "-", NULL, 0, why, sizeof why);
    why[strcspn(why, "\n")] = '\0';
    if (c)
        fprintf(out, "%d%s\n", c->forced, kiln_cuda_get_facts(c->cuda)->name);
    else
        fprintf(out, "%c%s\n", BAD, why);
    kiln_context_destroy(c);
    return true;
}

static bool hear(void *user, const char *line)
{
    tier_facts *f = user;
    int n = (int)strcspn(line + 1, "\n");
    f->present = *line != BAD;
    f->forced = *line == '1';
    if (f->present)
        snprintf(f->device, sizeof f->device, "%.*s", n, line + 1);
    else
        snprintf(f->why, sizeof f->why, "%.*s", n, line + 1);
    return true;
}

static bool lose(void *user, int64_t index, const char *why)
{
    tier_facts *f = user;
    (void)index;
    snprintf(f->why, sizeof f->why, "%s", why);
    return true;
}

/* --- all ------------------------------------------------------------------ */

static bool ask_child(tier_facts *f)
{
    static const int64_t edges[] = {0, 1};
    worker w = {.item = ask, .line = hear, .lost = lose, .user = f};
    w.timeout_s = TIMEOUT_S;
    return worker_run(&w, edges, 1);
}

static bool ask_here(tier_facts *f)
{
    char note[WORKER_NOTE];
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return false;
    (void)ask(f, 0, out, note);
    fclose(out);
    bool good = text && hear(f, text);
    free(text);
    return good;
}

static bool find(tier_facts *f, const char *name, bool here)
{
    *f = (tier_facts){.name = name, .cuda = contexts_is_cuda(name)};
    f->compiler = f->cuda ? KILN_NVCC : COMPILER;
    if (f->cuda)
        return here ? ask_here(f) : ask_child(f);
    f->present = true;
    read_processor(f->device, sizeof f->device);
    return true;
}

const tier_facts *tiers_get(const tiers *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->list[i].name, name) == 0)
            return &t->list[i];
    return NULL;
}

static bool add(tiers *t, const char *name, bool here)
{
    if (tiers_get(t, name))
        return true;
    return t->n < TIER_MOST && find(&t->list[t->n++], name, here);
}

bool tiers_find(tiers *t, const worklist *w, bool here)
{
    bool good = true;
    t->n = 0;
    for (int i = 0; good && i < w->n_kernels; i++)
        good = add(t, w->kernels[i].tier, here);
    for (int i = 0; good && i < w->n_keys; i++)
        good = add(t, w->keys[i].tier, here);
    return good;
}
