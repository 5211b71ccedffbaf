/* run.h: a certification run: the work that a list wants and a journal lacks,
 * kernels first, then keys, all in child processes. On the cpu a child does
 * one kernel; on CUDA it goes on until a kernel spoils it, since neighbours in
 * the list share their calls, and a process pays dear for a device.
 */
#ifndef KILN_TESTS_RUN_H
#define KILN_TESTS_RUN_H

#include <stdio.h>

#include "correct.h"
#include "journal.h"
#include "progress.h"
#include "tier.h"
#include "timing.h"
#include "worklist.h"

typedef struct run {
    const worklist *worklist;
    journal *journal;
    const char *ops;   /* "softmax,silu"; NULL: all */
    const char *match; /* part of a symbol or of a key's text; NULL: all */
    int jobs;          /* children that judge kernels; 0: one */
    bool once; /* CUDA: correct_run_once for every kernel, in this process */
    tiers tiers;
    int *todo; /* indices into the list, of kernels or of keys */
    int64_t n_todo;
    int64_t *edges;   /* of its parts */
    int64_t failed;   /* kernels, also of earlier runs, and keys */
    int64_t selected; /* with what the journal holds */
    int64_t absent;   /* of a tier or an ISA that is not here */
    bool broken;      /* the journal or the system gave way */
    progress progress;
    correct *correct; /* in a child, made by its first item; so is timing */
    timing *timing;
    FILE *out;
} run;

/* Fills tiers and an empty todo. false: no memory, or no child. */
bool run_open(run *r);
void run_close(run *r);
/* Each returns false when the run cannot go on. */
bool run_kernels(run *r);
bool run_keys(run *r);

#endif /* KILN_TESTS_RUN_H */
