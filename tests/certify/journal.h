/* journal.h: the lines of all attempts, kept as they are made, so that a run
 * goes on where the last one ended.
 */
#ifndef KILN_TESTS_JOURNAL_H
#define KILN_TESTS_JOURNAL_H

#include <stdint.h>

#include "worklist.h"

typedef enum journal_state {
    JOURNAL_ABSENT = 0,
    JOURNAL_PASSED,
    JOURNAL_FAILED
} journal_state;

typedef struct journal {
    int fd;
    int unsynced;  /* lines */
    int64_t lines; /* of a list's kernels and keys, or of others */
    int64_t stale; /* that were dropped when opening */
    table states;
} journal;

/* Opens or creates the file, for this process alone. A last line without its
 * end is cut. Lines that w tells to be out of date are dropped, by way of a
 * new file put in the place of the old: kernels by another hash, keys with
 * other ranges, and keys timed with a config of an op of which such a kernel
 * had changed. false, with the reason in why. */
bool journal_open(journal *j, const char *path, const worklist *w, char *why,
                  size_t cap);
void journal_close(journal *j);

/* Appends a line, which ends in '\n', and syncs now and then. false: the
 * system did not take it. */
bool journal_add(journal *j, const char *line);

journal_state journal_kernel(const journal *j, const work_kernel *kernel);
journal_state journal_key(const journal *j, const work_key *key,
                          const char *config);
/* The kernel of the key's tier and ISA that is called symbol. */
journal_state journal_symbol(const journal *j, const work_key *key,
                             const char *symbol);

#endif /* KILN_TESTS_JOURNAL_H */
