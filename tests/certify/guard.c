#define _GNU_SOURCE
#include "guard.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BELOW 4096 /* bytes watched below a buffer */

static size_t round_up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
}

void guard_release(guard *g)
{
    if (g->map)
        munmap(g->map, g->map_bytes);
    *g = (guard){0};
}

static bool grow(guard *g, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guard_release(g);
    size_t room = round_up(bytes, page);
    size_t all = room + 2 * page;
    char *map = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return false;
    if (mprotect(map + page, room, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, all);
        return false;
    }
    /* Fewer page faults; harmless where the kernel has no such pages. */
    if (room >= (size_t)8 << 20)
        (void)madvise(map + page, room, MADV_HUGEPAGE);
    *g = (guard){map, all, map + page, room, NULL, NULL};
    return true;
}

char *guard_place(guard *g, int64_t low, int64_t high, bool flush)
{
    assert(low <= 0 && high >= 0);
    size_t above = (size_t)high;
    if (!flush)
        above = round_up(above, GUARD_ALIGN);
    size_t bytes = above + (size_t)-low;
    if ((bytes > g->room_bytes || !g->map) && !grow(g, bytes ? bytes : 1))
        return NULL;
    char *end = g->room + g->room_bytes;
    size_t seen = bytes + BELOW;
    g->base = end - above;
    g->window = seen < g->room_bytes ? end - seen : g->room;
    return g->base;
}

static size_t window_bytes(const guard *g)
{
    return (size_t)(g->room + g->room_bytes - g->window);
}

void guard_fill(guard *g, int byte)
{
    memset(g->window, byte, window_bytes(g));
}

bool guard_find_other(const guard *g, int byte, int64_t *at)
{
    const char *from = g->window;
    char first = (char)byte;
    /* Equal to itself one byte on, and its first byte: all equal. */
    if (from[0] == first && memcmp(from, from + 1, window_bytes(g) - 1) == 0)
        return false;
    size_t i = 0;
    while (from[i] == first)
        i++;
    *at = from + i - g->base;
    return true;
}
