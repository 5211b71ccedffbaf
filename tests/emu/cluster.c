/* Clusters: PTX ISA, barrier.cluster and mapa. */
#include "state.h"

#include "san.h"

static void complete_if_all(void)
{
    if (emu_the.cluster_arrived && emu_the.cluster_arrived == emu_the.live) {
        emu_the.cluster_arrived = 0;
        emu_the.cluster_phase++;
        emu_wake_all(EMU_AT_CLUSTER, NULL);
    }
}

void emu_cluster_arrive(int ordered, int line)
{
    emu_thread *self = emu_the.self;
    self->line = line;
    if (self->in_cluster) {
        emu_fail(line, "cluster barrier: a second arrive without a wait");
    }
    self->in_cluster = true;
    self->cluster_phase = emu_the.cluster_phase;
    if (ordered) {
        emu_san_release(&emu_the.cluster_sync[self->cluster_phase & 1u]);
    }
    emu_the.cluster_arrived++;
    complete_if_all();
}

void emu_cluster_wait(int line)
{
    emu_thread *self = emu_the.self;
    self->line = line;
    if (!self->in_cluster) {
        emu_fail(line, "cluster barrier: a wait without an arrive");
    }
    self->in_cluster = false;
    if (emu_the.cluster_phase == self->cluster_phase) {
        emu_wait(EMU_AT_CLUSTER, line);
    }
    emu_san_acquire(&emu_the.cluster_sync[self->cluster_phase & 1u]);
}

void emu_cluster_end(emu_thread *self)
{
    if (self->in_cluster) {
        emu_fail(self->line, "cluster barrier: ended between arrive and wait");
    }
    complete_if_all();
}

emu_block *emu_owner(const void *address, size_t bytes)
{
    const uintptr_t at = (uintptr_t)address;
    for (uint32_t b = 0; b < emu_the.job->cluster; b++) {
        const uintptr_t low = (uintptr_t)emu_the.blocks[b].place.shared;
        const size_t size = emu_the.job->shared_bytes;
        if (at >= low && bytes <= size && at - low <= size - bytes) {
            return &emu_the.blocks[b];
        }
    }
    return NULL;
}

void *emu_cluster_map(const void *address, uint32_t rank, int line)
{
    const emu_thread *self = emu_the.self;
    const emu_block *own = self->block;
    if (rank >= own->place.ranks) {
        emu_fail(line, "block rank %u in a cluster of %u", rank,
                 own->place.ranks);
    }
    if (emu_owner(address, 0) != own) {
        emu_fail(line, "an address outside of this block's shared memory has "
                       "no place in a peer's");
    }
    const size_t offset =
        (size_t)((const unsigned char *)address - own->place.shared);
    return emu_the.blocks[rank].place.shared + offset;
}

/* A peer's shared memory exists from the first barrier of the cluster, which
 * shows that all blocks have begun, until the peer ends. */
void emu_cluster_access(const void *address, uint32_t bytes, int line)
{
    emu_thread *self = emu_the.self;
    const emu_block *owner = emu_owner(address, bytes);
    self->line = line;
    if (!owner) {
        emu_fail(line, "%u bytes outside of the cluster's shared memory",
                 bytes);
    }
    if (owner != self->block && emu_the.cluster_phase == 0) {
        emu_fail(line,
                 "block %u's shared memory is used before a cluster "
                 "barrier shows that it has begun",
                 owner->place.block_index.x);
    }
    if (owner->live_warps == 0) {
        emu_fail(line, "block %u's shared memory is used after it ended",
                 owner->place.block_index.x);
    }
}
