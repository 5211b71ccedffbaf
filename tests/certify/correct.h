/* correct.h: a kernel's correctness: every call of its domain, every element
 * of every output, through the public interface.
 *
 * A call is run on two sets of inputs: normal ones in 256-byte aligned
 * buffers, special ones in buffers that end at a guard page. Gaps between a
 * tensor's elements hold NaN on the way in and must come out untouched. Each
 * set is run on two threads twice, into outputs of different poison, and once
 * on one thread: all three must agree to the bit, and with the truth within
 * the kernel's limits.
 */
#ifndef KILN_TESTS_CORRECT_H
#define KILN_TESTS_CORRECT_H

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

/* Stops at the first failure. note (of cap bytes) says what is being done. */
void correct_run(const work_kernel *kernel, correct_result *result, char *note,
                 size_t cap);

#endif /* KILN_TESTS_CORRECT_H */
