/* cases.h: what the programs of real-world cases share. `cases COMMAND` runs
 * one of them on the library it is linked with; a line of TAP a case.
 */
#ifndef KILN_TESTS_CASES_H
#define KILN_TESTS_CASES_H

#include "../certify/call.h"
#include "../certify/fill.h"
#include "../certify/judge.h"

#define CASES_POISON 0xFF /* NaN in every float format */
#define CASES_DESCRIBE 8192

typedef struct tally {
    int failed;
} tally;

/* Prints a line of result; `why` only when it failed. */
void tally_add(tally *t, bool good, const char *name, const char *why);
void tally_skip(const char *name, const char *why);
/* A skip for every ISA that this processor lacks: no case was tried there. */
void tally_missing(const char *command);

/* The ISA levels, NULL last. */
extern const char *const cases_isas[];
/* A context, or NULL where this processor lacks the ISA; anything else is a
 * failure and ends the program. Whoever passes an ISA over says so: see
 * tally_missing. isa NULL: the best, never missing. */
kiln_context *cases_context(const char *isa, int threads);

/* A call of one output, the last tensor, with its buffers. Zeroed: empty. */
typedef struct trial {
    call call;
    call_buffers buffers;
    guard workspace;
    double *want; /* the truth, dense */
    char *got;    /* the output, dense */
    size_t room;  /* elements in both */
    judge_report report;
    char problem[1024];
} trial;

/* Takes the call that text says and gives it buffers; with flush, each ends
 * right before a page that is not mapped. Inputs are NaN. */
bool trial_open(trial *t, const char *text, bool flush);
void trial_fill(trial *t, uint64_t seed);
/* Poisons the output, runs the call, keeps the output in got. false, with the
 * problem: a status, or a byte beside the output was written. */
bool trial_run(trial *t, kiln_context *ctx);
/* A prepared plan of the call, or NULL with the problem. */
kiln_plan *trial_plan(trial *t, kiln_context *ctx);
/* As a plan that is there already. */
bool trial_enqueue(trial *t, const kiln_plan *plan);
/* want from the inputs as they are. */
bool trial_truth(trial *t);
/* Holds got to want, within the op's own limits. */
bool trial_judge(trial *t);
void trial_close(trial *t);

DLTensor *trial_output(trial *t);
bool trial_fail(trial *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A plan's first key and kernel, as describe names them; "-" without. */
bool cases_describe(const kiln_plan *plan, char *key, char *kernel, size_t cap);

/* The commands. */
void cases_tensor(tally *t);
void cases_layouts(tally *t);
/* Runs sizes up to cap. ladders: elements, rows and cols, edges apart by
 * commas. */
void cases_buckets(tally *t, int64_t cap, char *const ladders[3],
                   int64_t lattice_bytes);
void cases_dispatch(tally *t, const char *candidates, const char *keys);
/* Repetitions in each of so many fresh processes. */
void cases_first_use(tally *t, int processes, int repetitions);
void cases_process(tally *t);
/* So many random calls, of all ops, on all ISAs. */
void cases_random(tally *t, int calls, uint64_t seed);
void cases_same(tally *t);
void cases_refusals(tally *t);
void cases_undeclared(tally *t);
void cases_memory(tally *t);

#endif /* KILN_TESTS_CASES_H */
