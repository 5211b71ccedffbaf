/* calls.h: what tests/emu/device.cuh asks the engine for.
 *
 * Read as C by the engine and as C++ by kernels, whose shared objects find
 * these names in the program that loads them. `line` is the line of the
 * kernel's source, which messages give.
 */
#ifndef KILN_EMU_CALLS_H
#define KILN_EMU_CALLS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emu_dim {
    uint32_t x;
    uint32_t y;
    uint32_t z;
} emu_dim;

/* What a thread sees of its place. */
typedef struct emu_place {
    emu_dim grid_dim;
    emu_dim block_dim;
    emu_dim block_index;
    uint32_t rank;  /* of the block in its cluster */
    uint32_t ranks; /* blocks in the cluster */
    unsigned char *shared;
} emu_place;

typedef struct emu_view {
    emu_dim thread_index;
    const emu_place *place;
} emu_view;

/* The running thread's. */
extern emu_view *emu_now;

/* Collectives of a warp: every lane of mask makes the same call; the value
 * returned is the lane's own. */
typedef enum emu_kind {
    EMU_SYNC_WARP,
    EMU_SHUFFLE_XOR,
    EMU_SHUFFLE_DOWN,
    EMU_SHUFFLE_UP,
    EMU_SHUFFLE_INDEX,
    EMU_VOTE_ANY,
    EMU_VOTE_ALL,
    EMU_VOTE_BALLOT,
    EMU_MATCH_ANY,
    EMU_REDUCE_ADD,
    EMU_REDUCE_MIN, /* unsigned */
    EMU_REDUCE_MAX,
    EMU_REDUCE_AND,
    EMU_REDUCE_OR,
    EMU_REDUCE_XOR
} emu_kind;

/* operand: the shuffle's distance or source lane; width: its segment. */
uint64_t emu_warp(emu_kind kind, uint32_t mask, uint64_t value,
                  uint32_t operand, uint32_t width, int line);

/* __syncthreads (id 0, count 0: all threads that have not ended) and
 * bar.sync id, count. */
void emu_barrier(uint32_t id, uint32_t count, int line);
void emu_barrier_arrive(uint32_t id, uint32_t count, int line);

/* barrier.cluster.arrive and .wait; ordered: release and acquire. */
void emu_cluster_arrive(int ordered, int line);
void emu_cluster_wait(int line);

/* mapa: where `address` of this block's shared memory is in block rank's. */
void *emu_cluster_map(const void *address, uint32_t rank, int line);
/* Says that these bytes of a block's shared memory will be accessed. */
void emu_cluster_access(const void *address, uint32_t bytes, int line);

/* cp.async of 4, 8 or 16 bytes, of which the first `from` are read and the
 * others zero; groups; the wait that leaves `pending` groups in flight. */
void emu_copy(void *shared, const void *global, uint32_t bytes, uint32_t from,
              int line);
void emu_copy_commit(int line);
void emu_copy_wait(uint32_t pending, int line);

/* mbarrier objects (arrive: with expect_tx of so many bytes first), in this
 * block's shared memory or, where emu_cluster_map gave the address, in a
 * peer's. */
void emu_mbarrier_init(uint64_t *bar, uint32_t count, int line);
void emu_mbarrier_inval(uint64_t *bar, int line);
void emu_mbarrier_arrive(uint64_t *bar, uint32_t expect_bytes, int line);
/* Returns when the phase of that parity has completed. */
void emu_mbarrier_wait(uint64_t *bar, uint32_t parity, int line);

/* st.async: 4 or 8 bytes to a block of the cluster, completing on bar there. */
void emu_send(void *to, const void *value, uint32_t bytes, uint64_t *bar,
              int line);

/* cp.async.bulk: global to shared, completing on bar; shared to global with
 * groups; `read`: only the source must be reusable. */
void emu_bulk_load(void *shared, const void *global, uint32_t bytes,
                   uint64_t *bar, int line);
void emu_bulk_store(void *global, const void *shared, uint32_t bytes, int line);
void emu_bulk_commit(int line);
void emu_bulk_wait(uint32_t pending, int read, int line);

/* Lets others run: for loops that poll memory. */
void emu_yield(int line);

/* Ends the launch: device code found an error. */
void emu_refuse(int line, const char *what);

#ifdef __cplusplus
}
#endif

#endif /* KILN_EMU_CALLS_H */
