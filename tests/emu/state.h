/* state.h: what the engine knows of the cluster that is running. Private to
 * the C files of this folder.
 *
 * One launch runs at a time in a process (emu_run holds a lock), so the state
 * is one object, emu_the. Words: a thread is ready when it may be picked to
 * run; it waits when a call of calls.h cannot return yet; it has ended when
 * its kernel returned.
 */
#ifndef KILN_EMU_STATE_H
#define KILN_EMU_STATE_H

#include "calls.h"
#include "emu.h"
#include "fiber.h"

enum { EMU_BARRIERS = 16, EMU_POISON = 0xff };

typedef enum emu_why {
    EMU_RUNS,
    EMU_IN_WARP,
    EMU_AT_BARRIER,
    EMU_AT_CLUSTER,
    EMU_AT_MBARRIER,
    EMU_YIELDS
} emu_why;

typedef struct emu_block emu_block;
typedef struct emu_mbar emu_mbar;

/* An asynchronous copy that a thread waits for by groups. */
typedef struct emu_flight {
    void *to;
    const void *from;
    uint32_t bytes;
    uint32_t group;
    int line;
    unsigned char data[16]; /* cp.async: what was read */
} emu_flight;

typedef struct emu_flights {
    emu_flight *list;
    uint32_t n;
    uint32_t cap;
    uint32_t group; /* the open one; those below it are committed */
} emu_flights;

typedef struct emu_thread {
    emu_view view; /* first: emu_now points here */
    emu_block *block;
    emu_fiber *fiber;
    uint32_t id; /* in the block */
    uint32_t warp;
    uint32_t lane;
    emu_why why;
    int line; /* of the last call into the engine */

    /* A warp's collective. */
    emu_kind kind;
    uint32_t mask;
    uint64_t value;
    uint32_t operand;
    uint32_t width;
    uint64_t result;

    uint32_t barrier;       /* waited for */
    bool in_cluster;        /* arrived at the cluster's barrier, not waited */
    uint32_t cluster_phase; /* when it arrived */
    emu_mbar *mbar;         /* waited for */
    uint32_t parity;
    emu_flights copies; /* cp.async */
    emu_flights stores; /* cp.async.bulk to global memory */
} emu_thread;

typedef struct emu_warp_state {
    uint32_t live;    /* lanes that have not ended */
    uint32_t fresh;   /* not started yet */
    uint32_t ready;   /* may be picked */
    uint32_t yields;  /* may be picked when nobody else may */
    uint32_t meeting; /* wait in a collective */
    uint32_t common;  /* mask of all of them, unless mixed */
    bool mixed;
    /* ThreadSanitizer's view of syncwarp: by the lowest lane of its mask. */
    uint32_t syncs[EMU_LANES];
    uint64_t sync[EMU_LANES][2];
} emu_warp_state;

typedef struct emu_bar {
    uint32_t count;   /* threads asked for; 0: all that have not ended */
    uint32_t counted; /* warps all of whose lanes arrived */
    uint32_t phase;
    uint32_t arrived[EMU_MAX_WARPS]; /* lanes */
    uint32_t waiting[EMU_MAX_WARPS];
    int lines[EMU_MAX_WARPS];
    uint64_t sync[2];
} emu_bar;

struct emu_block {
    emu_place place;
    emu_thread *threads;
    emu_fiber *fibers;
    uint32_t n_fibers; /* made so far */
    uint32_t rotate;   /* thread t runs on fiber (t + rotate) % threads */
    uint32_t live_warps;
    uint32_t ready_warps;
    uint32_t warp;   /* picked last */
    uint32_t active; /* barriers that somebody arrived at */
    emu_warp_state warps[EMU_MAX_WARPS];
    emu_bar bars[EMU_BARRIERS];
};

typedef struct emu_state {
    const emu_job *job;
    emu_block blocks[EMU_MAX_CLUSTER];
    uint32_t at;   /* block picked last */
    uint32_t live; /* threads of the cluster that have not ended */
    emu_thread *self;
    emu_fiber main;
    bool from_main; /* the switch in progress leaves main */
    bool failed;
    uint64_t spins;
    uint32_t mix;   /* for EMU_STRIDED */
    size_t epoch;   /* fibers that saw an older one acquire `begun` */
    uint64_t begun; /* addresses for ThreadSanitizer */
    uint64_t done;
    uint32_t cluster_arrived;
    uint32_t cluster_phase;
    uint64_t cluster_sync[2];
    emu_stats stats;
    char *text; /* of the error: the caller's */
    size_t cap;
} emu_state;

extern emu_state emu_the;

/* --- schedule.c ------------------------------------------------------------*/

/* Waits until woken. */
void emu_wait(emu_why why, int line);
void emu_wake(emu_block *block, uint32_t warp, uint32_t lanes);
/* Wakes the threads of the cluster that wait so; for mbar: at that one. */
void emu_wake_all(emu_why why, const emu_mbar *mbar);
/* Runs the cluster that is set up until all threads ended or one failed. */
void emu_run_cluster(void);

/* --- report.c: errors end the launch and do not return --------------------*/

_Noreturn void emu_fail(int line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Nobody can go on: says what each waits for. */
_Noreturn void emu_deadlock(void);
/* Errors outside of a thread: only the text. */
void emu_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emu_report_install(void);
/* Races that ThreadSanitizer told of in this launch. */
unsigned emu_report_races(void);

/* --- warp.c, barrier.c, cluster.c, copy.c, bulk.c: when a thread ends ------*/

void emu_warp_end(emu_thread *self);
void emu_barrier_end(emu_thread *self);
void emu_cluster_end(emu_thread *self);
void emu_copy_end(emu_thread *self);
void emu_bulk_end(emu_thread *self);

void emu_bulk_begin(void);       /* a new cluster: no mbarrier, no copy */
bool emu_bulk_land(void);        /* true: a thread was woken */
const char *emu_bulk_left(void); /* what was never waited for, or NULL */

/* The block whose shared memory holds these bytes, or NULL. */
emu_block *emu_owner(const void *address, size_t bytes);
/* realloc and free of the engine's own memory while a thread runs: no accesses
 * of that thread. */
void *emu_own_realloc(void *memory, size_t bytes);
void emu_own_free(void *memory);
void emu_flights_push(emu_flights *flights, emu_flight flight);

#endif /* KILN_EMU_STATE_H */
