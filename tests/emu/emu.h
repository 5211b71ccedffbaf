/* emu.h: runs a CUDA kernel that was compiled for the host.
 *
 * Threads are fibers; one block, or one cluster of blocks, exists at a time.
 * What the hardware leaves undefined is an error here, with the kernel, the
 * block, the thread and the line of its source. See README.md beside this.
 */
#ifndef KILN_EMU_H
#define KILN_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EMU_LANES = 32,
    EMU_MAX_WARPS = 32,
    EMU_MAX_THREADS = EMU_LANES * EMU_MAX_WARPS,
    EMU_MAX_CLUSTER = 16,
    EMU_TEXT = 4096 /* an error's text fits, cut if longer */
};

/* The order in which blocks are run, and in which the threads that can go on
 * are picked. A correct kernel gives the same bits in each. */
typedef enum emu_order {
    EMU_FORWARD,
    EMU_REVERSE,
    EMU_STRIDED /* blocks by a stride that reaches all; threads mixed */
} emu_order;

typedef struct emu_job {
    const char *kernel;  /* its name, for messages */
    void (*entry)(void); /* takes its argument structure by value */
    const void *args;    /* the structure: 8 bytes a slot, 3 slots or more */
    size_t arg_bytes;
    uint64_t grid;       /* blocks, up to 2^31 - 1; a multiple of cluster */
    uint32_t threads;    /* a block */
    uint32_t cluster;    /* blocks a cluster; 1: none */
    size_t shared_bytes; /* dynamic shared memory a block */
    emu_order block_order;
    emu_order thread_order;
} emu_job;

/* Runs all blocks. False: an error, its text in text[0 .. cap). Callers on
 * several threads take turns. */
bool emu_run(const emu_job *job, char *text, size_t cap);

/* Counts since the process began. */
typedef struct emu_stats {
    uint64_t blocks;
    uint64_t threads;
    uint64_t switches; /* of fibers */
} emu_stats;

emu_stats emu_get_stats(void);

#endif /* KILN_EMU_H */
