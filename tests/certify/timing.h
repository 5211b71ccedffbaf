/* timing.h: how long each config takes at a key: the choice among kernels
 * that are correct.
 */
#ifndef KILN_TESTS_TIMING_H
#define KILN_TESTS_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "journal.h"
#include "worklist.h"

#define TIMING_TEXT 1024

typedef struct timing_result {
    const char *config;
    double us;     /* median of one enqueue */
    double spread; /* (90th - 10th percentile) / median */
    int64_t rounds;
    bool same; /* the last output is that of the first run, to the bit */
} timing_result;

typedef void timing_take(void *user, const work_key *key,
                         const timing_result *result);

/* Buffers and contexts, kept from key to key. */
typedef struct timing timing;

timing *timing_create(const journal *j);
void timing_destroy(timing *t);

/* Times the key's configs against each other, round by round: those whose
 * kernel the journal holds as passed and that it does not hold timed yet.
 * take hears each result. *skipped: configs without a passed kernel. false,
 * with the reason in why: the key cannot be timed. */
bool timing_key(timing *t, const work_key *key, timing_take *take, void *user,
                int *skipped, char *why, size_t cap);
/* false: the device takes no more work from this process. */
bool timing_is_sound(timing *t);

#endif /* KILN_TESTS_TIMING_H */
