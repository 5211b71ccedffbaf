/* progress.h: how far a long run is, on standard error: one line over and
 * over on a terminal, elsewhere a line now and then.
 */
#ifndef KILN_TESTS_PROGRESS_H
#define KILN_TESTS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    const char *what;
    int64_t total;
    int64_t failed;
    double start;
    double shown;
    bool terminal;
} progress;

progress progress_begin(const char *what, int64_t total);
/* done of total are behind us. Shows it when it is time. */
void progress_tick(progress *p, int64_t done);
/* The last word, always shown. */
void progress_end(progress *p, int64_t done);
/* A line of its own between the others. */
void progress_say(progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* KILN_TESTS_PROGRESS_H */
