/* sample.h: inputs and truth of a call, made once for all kernels that are
 * judged at it. Truth takes most of the time of a judgement.
 */
#ifndef KILN_TESTS_SAMPLE_H
#define KILN_TESTS_SAMPLE_H

#include "call.h"
#include "worklist.h"

/* Normal, special; for ops on rows steep, for those of several float inputs
 * cancelling. */
#define SAMPLE_SETS 3

typedef struct sample {
    bool kept;
    size_t bytes;
    char name[CALL_TEXT + 16];       /* set and call */
    char *inputs[CALL_MAX_TENSORS];  /* their extents, gaps too */
    double *truth[CALL_MAX_TENSORS]; /* by tensor; NULL for inputs */
} sample;

/* Zeroed: empty. */
typedef struct samples {
    const work_kernel *kernel; /* judged last */
    sample **list;
    int n;
    int room;
    table by_name; /* index into the list */
    size_t bytes;  /* of all */
    size_t most;   /* what may stay; 0: none */
} samples;

/* Samples go where the kernel shares no call with the one before. */
void samples_turn_to(samples *s, const work_kernel *kernel);
void samples_release(samples *s);

/* Sets of inputs that a call has. */
int sample_sets(const call *c, int n_in);

/* Fills the buffers of the call's inputs, all but their elements with
 * `around`, and gives inputs and truth; what is kept for calls to come must
 * have the seed that they will have. NULL with the reason in why. */
sample *samples_take(samples *s, const call *c, call_buffers *buffers, int n_in,
                     uint64_t seed, int set, int around, const char **why);
/* What was taken is no longer in use. */
void samples_give(sample *given);

#endif /* KILN_TESTS_SAMPLE_H */
