/* worker.h: work done in child processes, so that a crash or a hang costs one
 * item and no more. The caller must not have started threads.
 */
#ifndef KILN_TESTS_WORKER_H
#define KILN_TESTS_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WORKER_NOTE 1024
#define WORKER_MOST 64 /* children at a time */

/* In a child: does item `index` and writes whole lines to out. What it leaves
 * in note (WORKER_NOTE bytes) is known after a crash. false: it is done, but
 * the process can do no more items: another goes on. */
typedef bool worker_item(void *user, int64_t index, FILE *out, char *note);
/* In the parent: one line of a child, with its end. false: stop. */
typedef bool worker_line(void *user, const char *line);
/* In the parent: a child died or hung in item `index`. false: stop. */
typedef bool worker_lost(void *user, int64_t index, const char *why);
/* In the parent: so many items are behind us. May be NULL. */
typedef void worker_tick(void *user, int64_t done);

typedef struct worker {
    worker_item *item;
    worker_line *line;
    worker_lost *lost;
    worker_tick *tick;
    void *user;
    int timeout_s; /* of a child without a line */
    int jobs;      /* children at a time; 0: one */
    bool fresh;    /* a child does one part and ends */
} worker;

/* Does the items of n parts: part i is items edges[i] .. edges[i+1]-1, in
 * order and in one child unless an item costs it. false: stopped by a call
 * back, or no child could be had. */
bool worker_run(const worker *w, const int64_t *edges, int64_t n);

#endif /* KILN_TESTS_WORKER_H */
