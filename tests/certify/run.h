/* run.h: a certification run: the work that a list wants and a journal lacks,
 * kernels first, each in a child process; then keys, many to a child.
 */
#ifndef KILN_TESTS_RUN_H
#define KILN_TESTS_RUN_H

#include "journal.h"
#include "progress.h"
#include "worklist.h"

typedef struct run {
    const worklist *worklist;
    journal *journal;
    const char *ops;   /* "softmax,silu"; NULL: all */
    const char *match; /* part of a symbol or of a key's text; NULL: all */
    char device[128];  /* the processor's name */
    int *todo;         /* indices into the list, of kernels or of keys */
    int64_t n_todo;
    int64_t done;
    int64_t failed;   /* kernels, also of earlier runs, and keys */
    int64_t selected; /* with what the journal holds */
    int64_t absent;   /* of an ISA that this processor lacks */
    bool broken;      /* the journal or the system gave way */
    progress progress;
} run;

/* Fills device and an empty todo. false: no memory. */
bool run_open(run *r);
void run_close(run *r);
/* Each returns false when the run cannot go on. */
bool run_kernels(run *r);
bool run_keys(run *r);

#endif /* KILN_TESTS_RUN_H */
