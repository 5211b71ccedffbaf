/* worker.h: work done in a child process, so that a crash or a hang costs one
 * item and no more. The caller must not have started threads.
 */
#ifndef KILN_TESTS_WORKER_H
#define KILN_TESTS_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WORKER_NOTE 1024

/* In the child: does item `index` and writes whole lines to out. What it
 * leaves in note (WORKER_NOTE bytes) is known after a crash. */
typedef void worker_item(void *user, int64_t index, FILE *out, char *note);
/* In the parent: one line of the child, with its end. */
typedef void worker_line(void *user, const char *line);
/* In the parent: item `index` is being done. May be NULL. */
typedef void worker_tick(void *user, int64_t index);

typedef struct worker {
    worker_item *item;
    worker_line *line;
    worker_tick *tick;
    void *user;
    int timeout_s; /* without a line */
} worker;

/* Does items first .. last-1 in one child. Returns last, or the index of the
 * item in which the child died or hung, with the reason in why; -1 when no
 * child could be had. */
int64_t worker_run(const worker *w, int64_t first, int64_t last, char *why,
                   size_t cap);

#endif /* KILN_TESTS_WORKER_H */
