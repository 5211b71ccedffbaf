/* guard.h: buffers between two pages that nobody may touch. */
#ifndef KILN_TESTS_GUARD_H
#define KILN_TESTS_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_ALIGN 256

/* Zeroed: empty. room lies between the guard pages. */
typedef struct guard {
    char *map;
    size_t map_bytes;
    char *room;
    size_t room_bytes;
    char *base;   /* as placed last */
    char *window; /* where filling and looking begin: a page below */
} guard;

/* Places a buffer whose bytes [low, high) around its base are used: the base
 * aligned to GUARD_ALIGN, or, with flush, byte high - 1 last before the guard
 * page. Maps anew only when the room is too small; contents are undefined.
 * NULL when the system refuses. */
char *guard_place(guard *g, int64_t low, int64_t high, bool flush);
void guard_release(guard *g);

/* Sets every byte from a page below the placed bytes to the guard page. */
void guard_fill(guard *g, int byte);
/* The first of those bytes that is not `byte`, relative to the base; false:
 * all are. */
bool guard_find_other(const guard *g, int byte, int64_t *at);

#endif /* KILN_TESTS_GUARD_H */
