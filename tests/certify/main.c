/* certify-run: executes the work that `kiln candidates` lists. It is linked
 * with the candidates' own tables and kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "worker.h"

enum { DONE = 0, WRONG_INPUT = 1, WRONG_USAGE = 2, FAILED = 3, IO = 4 };

typedef struct options {
    const char *list;
    const char *journal;
    const char *ops;
    const char *match;
    const char *jobs;
    bool only_kernels;
    bool only_keys;
    bool one_call;
} options;

static const char USAGE[] =
    "usage: certify-run [options]\n"
    "\n"
    "Judges every kernel of a list of candidates against the f64 truth, then\n"
    "times the configs of every key whose kernels passed. Each attempt is one\n"
    "JSON line in the journal; what stands there is not done again.\n"
    "\n"
    "  --list FILE      the work (build/candidates/CANDIDATES.tsv)\n"
    "  --journal FILE   where lines go (build/certify/cpu.jsonl)\n"
    "  --ops LIST       these ops alone, such as softmax,silu\n"
    "  --match TEXT     kernels and keys that contain TEXT alone\n"
    "  --jobs N         judge kernels in N processes (1; keys are timed in "
    "one)\n"
    "  --only-kernels   correctness alone\n"
    "  --only-keys      times alone, of kernels passed in the journal\n"
    "  --one-call       CUDA: one run of one call of each kernel, in this\n"
    "                   process, for compute-sanitizer; no keys\n"
    "\n"
    "Exit status: 0 all passed; 1 wrong input, or nothing selected; 2 wrong\n"
    "usage; 3 a kernel or key failed; 4 the system refused.\n";

static int usage(const char *problem, const char *word)
{
    fprintf(stderr, "certify-run: %s%s\n\n%s", problem, word, USAGE);
    return WRONG_USAGE;
}

static int count_jobs(const options *o)
{
    return o->jobs ? atoi(o->jobs) : 1;
}

static int check_options(const options *o)
{
    if (o->only_kernels && o->only_keys)
        return usage("--only-kernels and --only-keys exclude each other", "");
    if (o->one_call && o->only_keys)
        return usage("--one-call and --only-keys exclude each other", "");
    if (count_jobs(o) < 1 || count_jobs(o) > WORKER_MOST)
        return usage("--jobs takes 1 to 64, not ", o->jobs);
    return DONE;
}

/* DONE, or the exit status. */
static int read_options(options *o, int argc, char **argv)
{
    const struct {
        const char *name;
        const char **value;
        bool *flag;
    } all[] = {
        {"--list", &o->list, NULL},
        {"--journal", &o->journal, NULL},
        {"--ops", &o->ops, NULL},
        {"--match", &o->match, NULL},
        {"--jobs", &o->jobs, NULL},
        {"--only-kernels", NULL, &o->only_kernels},
        {"--only-keys", NULL, &o->only_keys},
        {"--one-call", NULL, &o->one_call},
    };
    const size_t n = sizeof all / sizeof *all;
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < n && strcmp(argv[i], all[k].name) != 0)
            k++;
        if (k == n)
            return usage("unknown option ", argv[i]);
        if (all[k].flag)
            *all[k].flag = true;
        else if (i + 1 < argc)
            *all[k].value = argv[++i];
        else
            return usage("no value for ", argv[i]);
    }
    return check_options(o);
}

static void say_absent(const run *r)
{
    if (r->absent == 0)
        return;
    fprintf(stderr, "%lld lines left out: their tier or ISA is not here\n",
            (long long)r->absent);
    for (int i = 0; i < r->tiers.n; i++)
        if (!r->tiers.list[i].present)
            fprintf(stderr, "tier %s: %s\n", r->tiers.list[i].name,
                    r->tiers.list[i].why);
}

static int certify(const options *o, const worklist *w, journal *j)
{
    run r = {.worklist = w, .journal = j, .ops = o->ops, .match = o->match};
    r.jobs = count_jobs(o);
    r.once = o->one_call;
    bool good = run_open(&r);
    if (j->stale > 0)
        fprintf(stderr, "%s: %lld lines out of date dropped\n", o->journal,
                (long long)j->stale);
    if (good && !o->only_keys)
        good = run_kernels(&r);
    if (good && !o->only_kernels && !o->one_call)
        good = run_keys(&r);
    run_close(&r);
    say_absent(&r);
    if (!good)
        return IO;
    if (r.selected == 0) {
        fprintf(stderr, "certify-run: nothing is selected in %s\n", o->list);
        return WRONG_INPUT;
    }
    return r.failed > 0 ? FAILED : DONE;
}

int main(int argc, char **argv)
{
    char why[2048];
    worklist w;
    journal j;
    options o = {.list = "build/candidates/CANDIDATES.tsv",
                 .journal = "build/certify/cpu.jsonl"};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(USAGE, stdout);
        return DONE;
    }
    int status = read_options(&o, argc, argv);
    if (status != DONE)
        return status;
    if (!worklist_load(&w, o.list, why, sizeof why)) {
        fprintf(stderr, "certify-run: %s\n", why);
        return WRONG_INPUT;
    }
    if (journal_open(&j, o.journal, &w, why, sizeof why)) {
        status = certify(&o, &w, &j);
        journal_close(&j);
    } else {
        fprintf(stderr, "certify-run: %s\n", why);
        status = IO;
    }
    worklist_free(&w);
    return status;
}
