/* correct.h: a kernel's correctness: every call of its domain, every element
 * of every output, through the public interface.
 *
 * A call is run on two sets of inputs, normal and special ones; ops on rows and
 * those of several float inputs have a third: see sample.h. Gaps between a
 * tensor's elements hold NaN on the way in and must come out untouched, as must
 * what lies around each tensor. All runs of a set, each into other poison, must
 * agree to the bit, and with the truth within the kernel's limits.
 *   - cpu: bases 256-byte aligned, or with the special set every buffer's end
 *     at a guard page; two runs on two threads and one on one thread;
 *   - CUDA: bands of poison before and after every tensor and the workspace;
 *     two runs put into the stream and two of a graph, which is captured at
 *     the first set and replayed with all.
 */
#ifndef KILN_TESTS_CORRECT_H
#define KILN_TESTS_CORRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "worklist.h"

#define CORRECT_TEXT 1400

typedef struct correct_result {
    int64_t cases;             /* pairs of a call and a set of inputs */
    int64_t elements;          /* judged */
    double error;              /* worst share of a limit */
    char worst[CORRECT_TEXT];  /* "CALL text[index]" of that */
    const char *check;         /* that failed; "": none */
    char detail[CORRECT_TEXT]; /* of the failure */
} correct_result;

/* What serves kernel after kernel: on CUDA the device, and the inputs and
 * truths of the calls that neighbours share. One process, one tier. */
typedef struct correct correct;

/* NULL: no memory. */
correct *correct_create(void);
void correct_destroy(correct *c);

/* Stops at the first failure. note (of cap bytes) says what is being done.
 * The kernel outlives c. false: the device takes no more work from this
 * process. */
bool correct_run(correct *c, const work_kernel *kernel, correct_result *result,
                 char *note, size_t cap);

/* CUDA alone, for tools that watch a kernel: one call, one set, one run.
 * Memory is taken anew, to the byte, and a workspace is not written to. */
bool correct_run_once(correct *c, const work_kernel *kernel,
                      correct_result *result, char *note, size_t cap);

#endif /* KILN_TESTS_CORRECT_H */
