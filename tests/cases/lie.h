/* lie.h: a system that says nothing of itself. Linked with --wrap=sysconf,
 * --wrap=sched_getaffinity and --wrap=malloc.
 */
#ifndef KILN_TESTS_LIE_H
#define KILN_TESTS_LIE_H

#include <stdbool.h>

typedef enum lie_kind {
    LIE_NOT = 0,
    LIE_ZERO, /* counts of processors, page and cache sizes are 0 */
    LIE_ERROR /* asking for them is an error */
} lie_kind;

void lie_set(lie_kind kind);
/* What the system says indeed. */
long lie_not_sysconf(int name);
/* Calls of malloc so far, by the program and the library in it. */
long lie_mallocs(void);

#endif /* KILN_TESTS_LIE_H */
