/* arena.h: memory that lives and goes as one. Blocks come from the caller's
 * allocator; nothing is given back before the whole.
 */
#ifndef KILN_CORE_ARENA_H
#define KILN_CORE_ARENA_H

#include <stddef.h>

#include "../kiln.h"

typedef struct kiln_block {
    struct kiln_block *next;
    size_t used;
    size_t size;
} kiln_block;

typedef struct kiln_arena {
    kiln_allocator allocator;
    kiln_block *blocks; /* newest first */
} kiln_arena;

/* allocator NULL: malloc and free. */
void kiln_arena_init(kiln_arena *arena, const kiln_allocator *allocator);
/* 16-byte aligned, uninitialised; NULL when the allocator refuses. */
void *kiln_arena_alloc(kiln_arena *arena, size_t bytes);
/* A copy of `bytes` of data, or NULL. */
void *kiln_arena_copy(kiln_arena *arena, const void *data, size_t bytes);
void kiln_arena_free(kiln_arena *arena);

#endif /* KILN_CORE_ARENA_H */
