#include "arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Holds the whole plan of a simple op: one allocation a plan. */
#define FIRST_BLOCK 4096
#define ALIGNMENT 16
#define HEADER ((sizeof(kiln_block) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1))

static void *system_allocate(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void system_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

void kiln_arena_init(kiln_arena *arena, const kiln_allocator *allocator)
{
    static const kiln_allocator system = {system_allocate, system_release,
                                          NULL};

    arena->allocator = allocator != NULL ? *allocator : system;
    arena->blocks = NULL;
}

static kiln_block *add_block(kiln_arena *arena, size_t bytes)
{
    size_t size = FIRST_BLOCK;
    kiln_block *block;

    if (arena->blocks != NULL) {
        size = arena->blocks->size * 2;
    }
    if (size < bytes + HEADER) {
        size = bytes + HEADER;
    }
    block = arena->allocator.allocate(arena->allocator.user, size);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    block->used = HEADER;
    block->size = size;
    arena->blocks = block;
    return block;
}

void *kiln_arena_alloc(kiln_arena *arena, size_t bytes)
{
    kiln_block *block = arena->blocks;
    void *memory;

    if (bytes > SIZE_MAX / 4) {
        return NULL;
    }
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (block == NULL || block->size - block->used < bytes) {
        block = add_block(arena, bytes);
        if (block == NULL) {
            return NULL;
        }
    }
    memory = (char *)block + block->used;
    block->used += bytes;
    return memory;
}

void *kiln_arena_copy(kiln_arena *arena, const void *data, size_t bytes)
{
    void *memory = kiln_arena_alloc(arena, bytes);

    if (memory != NULL && bytes > 0) {
        memcpy(memory, data, bytes);
    }
    return memory;
}

void kiln_arena_free(kiln_arena *arena)
{
    /* The arena itself may live in one of its blocks. */
    kiln_allocator allocator = arena->allocator;
    kiln_block *block = arena->blocks;

    while (block != NULL) {
        kiln_block *next = block->next;

        allocator.release(allocator.user, block);
        block = next;
    }
}
