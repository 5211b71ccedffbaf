#include "life.h"

#include <stddef.h>

#include "arith.h"

/* The lowest aligned offset at or above `from` that buffer i could take, or
 * the end of the first placed buffer in its way. */
static int64_t conflict_end(const kiln_buffer *buffers, const bool *placed,
                            int n, int i, int64_t from)
{
    int64_t high = from + buffers[i].bytes;

    for (int j = 0; j < n; j++) {
        const kiln_buffer *b = &buffers[j];

        if (!placed[j] || b->last < buffers[i].first ||
            b->first > buffers[i].last || b->bytes == 0) {
            continue;
        }
        if (b->offset < high && b->offset + b->bytes > from) {
            return b->offset + b->bytes;
        }
    }
    return from;
}

static bool place(kiln_buffer *buffers, const bool *placed, int n, int i,
                  int64_t *total)
{
    int64_t offset = 0;
    int64_t end;

    for (;;) {
        int64_t next;

        if (!kiln_arith_align(offset, KILN_WORKSPACE_ALIGN, &offset) ||
            __builtin_add_overflow(offset, buffers[i].bytes, &end)) {
            return false;
        }
        next = conflict_end(buffers, placed, n, i, offset);
        if (next == offset) {
            break;
        }
        offset = next;
    }
    buffers[i].offset = offset;
    if (end > *total) {
        *total = end;
    }
    return true;
}

/* What no launch uses keeps offset 0 and takes no room. */
static int largest_unplaced(const kiln_buffer *buffers, const bool *placed,
                            int n)
{
    int best = -1;

    for (int i = 0; i < n; i++) {
        if (!placed[i] && buffers[i].offset >= 0 && buffers[i].first >= 0 &&
            (best < 0 || buffers[i].bytes > buffers[best].bytes)) {
            best = i;
        }
    }
    return best;
}

bool kiln_life_assign(kiln_buffer *buffers, int n, int64_t *total)
{
    bool placed[KILN_LIFE_MAX] = {false};
    int i;

    *total = 0;
    if (n > KILN_LIFE_MAX) {
        return false;
    }
    while ((i = largest_unplaced(buffers, placed, n)) >= 0) {
        if (!place(buffers, placed, n, i, total)) {
            return false;
        }
        placed[i] = true;
    }
    return true;
}
