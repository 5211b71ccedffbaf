#include "state.h"

#include "san.h"

/* A kernel that polls this often without anyone else going on is stuck. */
#define MAX_SPINS 1000000u

emu_state emu_the;
emu_view *emu_now;

/* One of the set bits, by the order asked for. */
static uint32_t choose(uint32_t bits)
{
    switch (emu_the.job->thread_order) {
    case EMU_REVERSE:
        return 31u - (uint32_t)__builtin_clz(bits);
    case EMU_STRIDED: {
        /* Numerical Recipes' "quick" generator; its high bits are good. */
        emu_the.mix = emu_the.mix * 1664525u + 1013904223u;
        const uint32_t by = emu_the.mix >> 27;
        const uint32_t turned = bits >> by | bits << ((32u - by) & 31u);
        return ((uint32_t)__builtin_ctz(turned) + by) & 31u;
    }
    case EMU_FORWARD:
        break;
    }
    return (uint32_t)__builtin_ctz(bits);
}

static emu_thread *pick_in(emu_block *block)
{
    uint32_t w = block->warp;
    if (!(block->ready_warps >> w & 1u) ||
        emu_the.job->thread_order == EMU_STRIDED) {
        w = choose(block->ready_warps);
        block->warp = w;
    }
    emu_warp_state *warp = &block->warps[w];
    const uint32_t lane = choose(warp->ready);
    warp->ready &= ~(1u << lane);
    if (warp->ready == 0) {
        block->ready_warps &= ~(1u << w);
    }
    return &block->threads[w * EMU_LANES + lane];
}

static emu_thread *pick_ready(void)
{
    const uint32_t n = emu_the.job->cluster;
    for (uint32_t i = 0; i < n; i++) {
        emu_block *block = &emu_the.blocks[emu_the.at];
        if (block->ready_warps) {
            return pick_in(block);
        }
        const uint32_t step =
            emu_the.job->thread_order == EMU_REVERSE ? n - 1 : 1;
        emu_the.at = (emu_the.at + step) % n;
    }
    return NULL;
}

static bool wake_yielding(void)
{
    bool any = false;
    for (uint32_t b = 0; b < emu_the.job->cluster; b++) {
        emu_block *block = &emu_the.blocks[b];
        for (uint32_t w = 0; w < EMU_MAX_WARPS; w++) {
            const uint32_t lanes = block->warps[w].yields;
            if (lanes) {
                block->warps[w].yields = 0;
                emu_wake(block, w, lanes);
                any = true;
            }
        }
    }
    return any && ++emu_the.spins < MAX_SPINS;
}

/* The next thread to run; NULL: all have ended. Bulk copies land as late as
 * can be: when no thread can go on without them. */
static emu_thread *pick(void)
{
    for (;;) {
        emu_thread *thread = pick_ready();
        if (thread || emu_the.live == 0) {
            return thread;
        }
        if (!emu_bulk_land() && !wake_yielding()) {
            emu_deadlock();
        }
    }
}

static void end_thread(emu_thread *self)
{
    emu_copy_end(self);
    emu_bulk_end(self);
    emu_warp_state *warp = &self->block->warps[self->warp];
    warp->live &= ~(1u << self->lane);
    if (warp->live == 0) {
        self->block->live_warps &= ~(1u << self->warp);
    }
    emu_the.live--;
    emu_warp_end(self);
    emu_barrier_end(self);
    emu_cluster_end(self);
    emu_san_release(&emu_the.done);
}

static void go_on(emu_thread *next);

/* Where every thread begins and ends. */
static void boot(void)
{
    emu_fiber_entered(emu_the.from_main ? &emu_the.main : NULL);
    emu_the.from_main = false;
    emu_thread *self = emu_the.self;
    if (self->fiber->launch != emu_the.epoch) {
        self->fiber->launch = emu_the.epoch;
        emu_san_acquire(&emu_the.begun);
    }
    emu_fiber_call(emu_the.job->entry, emu_the.job->args,
                   emu_the.job->arg_bytes);
    end_thread(self);
    emu_thread *next = pick();
    if (next) {
        go_on(next);
    }
    emu_fiber_quit(self->fiber, next ? next->fiber : &emu_the.main);
}

/* Makes next the running thread but for the switch of stacks. */
static void go_on(emu_thread *next)
{
    emu_block *block = next->block;
    emu_warp_state *warp = &block->warps[next->warp];
    if (warp->fresh >> next->lane & 1u) {
        uint32_t f = next->id + block->rotate;
        f = f < emu_the.job->threads ? f : f - emu_the.job->threads;
        next->fiber = &block->fibers[f];
        warp->fresh &= ~(1u << next->lane);
        emu_fiber_start(next->fiber, next->id, boot);
    }
    emu_the.self = next;
    emu_now = &next->view;
    emu_the.stats.switches++;
}

void emu_wait(emu_why why, int line)
{
    emu_thread *self = emu_the.self;
    self->why = why;
    self->line = line;
    emu_thread *next = pick();
    if (next != self) {
        go_on(next);
        emu_fiber_switch(self->fiber, next->fiber);
    }
    self->why = EMU_RUNS;
}

void emu_wake(emu_block *block, uint32_t warp, uint32_t lanes)
{
    if (lanes) {
        block->warps[warp].ready |= lanes;
        block->ready_warps |= 1u << warp;
    }
}

void emu_wake_all(emu_why why, const emu_mbar *mbar)
{
    for (uint32_t b = 0; b < emu_the.job->cluster; b++) {
        emu_block *block = &emu_the.blocks[b];
        for (uint32_t t = 0; t < emu_the.job->threads; t++) {
            emu_thread *thread = &block->threads[t];
            if (thread->why == why && (!mbar || thread->mbar == mbar)) {
                thread->why = EMU_RUNS;
                emu_wake(block, thread->warp, 1u << thread->lane);
            }
        }
    }
}

void emu_yield(int line)
{
    emu_thread *self = emu_the.self;
    self->block->warps[self->warp].yields |= 1u << self->lane;
    emu_wait(EMU_YIELDS, line);
}

void emu_run_cluster(void)
{
    emu_thread *first = pick();
    go_on(first);
    emu_the.from_main = true;
    emu_fiber_switch(&emu_the.main, first->fiber);
    emu_the.from_main = false;
}
