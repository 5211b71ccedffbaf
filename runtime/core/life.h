/* life.h: places temporaries of known lifetimes in one workspace. */
#ifndef KILN_CORE_LIFE_H
#define KILN_CORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#define KILN_WORKSPACE_ALIGN 256
#define KILN_LIFE_MAX 256 /* buffers of one plan */

typedef struct kiln_buffer {
    const char *name;
    int64_t bytes;
    int64_t offset; /* in the workspace; -1 for a caller's tensor */
    int32_t first;  /* index of the first launch that uses it; -1: none */
    int32_t last;
} kiln_buffer;

/* Gives every temporary (offset 0 on entry, -1 for others) an offset, aligned,
 * so that two alive at once never share bytes; larger ones first, lowest place
 * that fits. One without a launch stays at 0 and takes no room. *total: bytes
 * of the workspace. false past int64 or KILN_LIFE_MAX. */
bool kiln_life_assign(kiln_buffer *buffers, int n, int64_t *total);

#endif /* KILN_CORE_LIFE_H */
