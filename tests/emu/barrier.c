/* Barriers of a block: PTX ISA, bar / barrier. They count warps: a warp has
 * come when each of its lanes that has not ended has. */
#include "state.h"

#include "san.h"

static uint32_t full_warps(const emu_bar *bar)
{
    return (uint32_t)__builtin_popcount(bar->counted);
}

static bool complete(const emu_block *block, const emu_bar *bar)
{
    if (bar->count) {
        return full_warps(bar) * EMU_LANES == bar->count;
    }
    return (bar->counted & block->live_warps) == block->live_warps;
}

static void release(emu_block *block, emu_bar *bar)
{
    for (uint32_t w = 0; w < EMU_MAX_WARPS; w++) {
        emu_wake(block, w, bar->waiting[w]);
        bar->waiting[w] = 0;
        bar->arrived[w] = 0;
    }
    bar->counted = 0;
    bar->phase++;
    block->active &= ~(1u << (bar - block->bars));
}

static void count_warp(emu_block *block, emu_bar *bar, uint32_t w)
{
    const uint32_t live = block->warps[w].live;
    if (bar->arrived[w] && (bar->arrived[w] & live) == live) {
        bar->counted |= 1u << w;
    }
}

static void check(const emu_thread *self, uint32_t id, uint32_t count)
{
    if (id >= EMU_BARRIERS) {
        emu_fail(self->line, "barrier %u: there are %d", id, EMU_BARRIERS);
    }
    if (count % EMU_LANES || count > EMU_MAX_THREADS) {
        emu_fail(self->line, "barrier %u: %u threads are no number of warps",
                 id, count);
    }
    const emu_bar *bar = &self->block->bars[id];
    if ((self->block->active >> id & 1u) && bar->count != count) {
        emu_fail(self->line, "barrier %u: asked for %u threads, another for %u",
                 id, count, bar->count);
    }
    if (bar->arrived[self->warp] >> self->lane & 1u) {
        emu_fail(self->line, "barrier %u: this thread has already arrived", id);
    }
    if (bar->arrived[self->warp] && bar->lines[self->warp] != self->line) {
        emu_fail(self->line,
                 "barrier %u: lanes of a warp came from line %d and line %d",
                 id, bar->lines[self->warp], self->line);
    }
}

static emu_bar *arrive(emu_thread *self, uint32_t id, uint32_t count, int line)
{
    emu_block *block = self->block;
    self->line = line;
    check(self, id, count);
    emu_bar *bar = &block->bars[id];
    bar->count = count;
    bar->lines[self->warp] = line;
    bar->arrived[self->warp] |= 1u << self->lane;
    block->active |= 1u << id;
    count_warp(block, bar, self->warp);
    emu_san_release(&bar->sync[bar->phase & 1u]);
    return bar;
}

void emu_barrier(uint32_t id, uint32_t count, int line)
{
    emu_thread *self = emu_the.self;
    emu_bar *bar = arrive(self, id, count, line);
    void *place = &bar->sync[bar->phase & 1u];
    if (complete(self->block, bar)) {
        release(self->block, bar);
    } else {
        bar->waiting[self->warp] |= 1u << self->lane;
        self->barrier = id;
        emu_wait(EMU_AT_BARRIER, line);
    }
    emu_san_acquire(place);
}

void emu_barrier_arrive(uint32_t id, uint32_t count, int line)
{
    emu_thread *self = emu_the.self;
    emu_bar *bar = arrive(self, id, count, line);
    if (count == 0) {
        emu_fail(line, "barrier %u: arrive needs a number of threads", id);
    }
    if (complete(self->block, bar)) {
        release(self->block, bar);
    }
}

/* A thread that ended no longer holds its warp up, nor, where all threads are
 * wanted, the block. */
void emu_barrier_end(emu_thread *self)
{
    emu_block *block = self->block;
    for (uint32_t id = 0; block->active >> id; id++) {
        emu_bar *bar = &block->bars[id];
        if (!(block->active >> id & 1u)) {
            continue;
        }
        count_warp(block, bar, self->warp);
        if (complete(block, bar)) {
            release(block, bar);
        }
    }
}
