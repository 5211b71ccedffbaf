/* Collectives of a warp: a rendezvous. Each lane leaves what it brings and
 * waits; the last one computes for all. No memory is ordered by them but by
 * syncwarp (CUDA C++ Programming Guide, "Warp shuffle functions" and
 * "Synchronization functions"). */
#include "state.h"

#include "san.h"

static const char *const names[] = {
    [EMU_SYNC_WARP] = "syncwarp",        [EMU_SHUFFLE_XOR] = "shuffle xor",
    [EMU_SHUFFLE_DOWN] = "shuffle down", [EMU_SHUFFLE_UP] = "shuffle up",
    [EMU_SHUFFLE_INDEX] = "shuffle",     [EMU_VOTE_ANY] = "vote any",
    [EMU_VOTE_ALL] = "vote all",         [EMU_VOTE_BALLOT] = "ballot",
    [EMU_MATCH_ANY] = "match",           [EMU_REDUCE_ADD] = "reduce add",
    [EMU_REDUCE_MIN] = "reduce min",     [EMU_REDUCE_MAX] = "reduce max",
    [EMU_REDUCE_AND] = "reduce and",     [EMU_REDUCE_OR] = "reduce or",
    [EMU_REDUCE_XOR] = "reduce xor",
};

/* The next lane of the set, which loses it. */
static uint32_t take(uint32_t *lanes)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(*lanes);
    *lanes &= *lanes - 1;
    return lane;
}

/* The lane that `to` reads: PTX ISA, shfl.sync. A lane whose source lies
 * outside of its segment reads itself. */
static uint32_t shuffle_source(const emu_thread *to)
{
    const uint32_t first = to->lane & ~(to->width - 1u);
    const uint32_t in = to->lane - first;
    uint32_t from = in;
    switch (to->kind) {
    case EMU_SHUFFLE_XOR:
        from = in ^ to->operand;
        break;
    case EMU_SHUFFLE_DOWN:
        from = in + to->operand;
        break;
    case EMU_SHUFFLE_UP:
        from = in - to->operand;
        break;
    default:
        from = to->operand & (to->width - 1u);
        break;
    }
    return from < to->width ? first + from : to->lane;
}

static void shuffle(emu_thread *lanes, uint32_t mask)
{
    for (uint32_t left = mask; left;) {
        emu_thread *to = &lanes[take(&left)];
        const uint32_t from = shuffle_source(to);
        if (!(mask >> from & 1u)) {
            emu_fail(to->line,
                     "%s: lane %u reads lane %u, which mask 0x%08x lacks",
                     names[to->kind], to->lane, from, mask);
        }
        to->result = lanes[from].value;
    }
}

static uint64_t ballot(const emu_thread *lanes, uint32_t mask)
{
    uint64_t bits = 0;
    for (uint32_t left = mask; left;) {
        const uint32_t lane = take(&left);
        bits |= (uint64_t)(lanes[lane].value != 0) << lane;
    }
    return bits;
}

static uint32_t combine(emu_kind kind, uint32_t a, uint32_t b)
{
    switch (kind) {
    case EMU_REDUCE_MIN:
        return a < b ? a : b;
    case EMU_REDUCE_MAX:
        return a > b ? a : b;
    case EMU_REDUCE_AND:
        return a & b;
    case EMU_REDUCE_OR:
        return a | b;
    case EMU_REDUCE_XOR:
        return a ^ b;
    default:
        return a + b;
    }
}

static uint64_t reduce(emu_kind kind, const emu_thread *lanes, uint32_t mask)
{
    uint32_t left = mask;
    uint32_t sum = (uint32_t)lanes[take(&left)].value;
    while (left) {
        sum = combine(kind, sum, (uint32_t)lanes[take(&left)].value);
    }
    return sum;
}

static void match(emu_thread *lanes, uint32_t mask)
{
    for (uint32_t left = mask; left;) {
        emu_thread *to = &lanes[take(&left)];
        to->result = 0;
        for (uint32_t others = mask; others;) {
            const uint32_t lane = take(&others);
            const bool same = lanes[lane].value == to->value;
            to->result |= (uint64_t)same << lane;
        }
    }
}

static void give_all(emu_thread *lanes, uint32_t mask, uint64_t result)
{
    while (mask) {
        lanes[take(&mask)].result = result;
    }
}

static void compute(emu_kind kind, emu_thread *lanes, uint32_t mask)
{
    switch (kind) {
    case EMU_SYNC_WARP:
        break;
    case EMU_SHUFFLE_XOR:
    case EMU_SHUFFLE_DOWN:
    case EMU_SHUFFLE_UP:
    case EMU_SHUFFLE_INDEX:
        shuffle(lanes, mask);
        break;
    case EMU_VOTE_ANY:
        give_all(lanes, mask, ballot(lanes, mask) != 0);
        break;
    case EMU_VOTE_ALL:
        give_all(lanes, mask, ballot(lanes, mask) == mask);
        break;
    case EMU_VOTE_BALLOT:
        give_all(lanes, mask, ballot(lanes, mask));
        break;
    case EMU_MATCH_ANY:
        match(lanes, mask);
        break;
    default:
        give_all(lanes, mask, reduce(kind, lanes, mask));
        break;
    }
}

/* self against another lane that waits. When each names the other they must
 * name the same lanes, and make the same call at the same place. When only
 * one names the other, that one comes later, or there is a deadlock. */
static void compare(const emu_thread *self, const emu_thread *other)
{
    if (!(self->mask >> other->lane & other->mask >> self->lane & 1u)) {
        return;
    }
    if (self->mask != other->mask) {
        emu_fail(self->line,
                 "%s: lane %u has mask 0x%08x, lane %u at line %d has 0x%08x",
                 names[self->kind], self->lane, self->mask, other->lane,
                 other->line, other->mask);
    }
    if (self->kind != other->kind ||
        (self->line != other->line && self->kind != EMU_SYNC_WARP)) {
        emu_fail(
            self->line, "%s: lane %u is in another collective: %s at line %d",
            names[self->kind], other->lane, names[other->kind], other->line);
    }
}

static void check(const emu_thread *self, const emu_warp_state *warp)
{
    const emu_thread *lanes = self - self->lane;
    const uint32_t gone = self->mask & ~warp->live;
    if (!(self->mask >> self->lane & 1u)) {
        emu_fail(self->line, "%s: mask 0x%08x lacks the calling lane %u",
                 names[self->kind], self->mask, self->lane);
    }
    if (gone) {
        emu_fail(self->line,
                 "%s: mask 0x%08x names lanes 0x%08x, which have ended or "
                 "never were",
                 names[self->kind], self->mask, gone);
    }
    uint32_t others = warp->meeting;
    if (others && !warp->mixed && warp->common == self->mask) {
        others &= ~others + 1u; /* they agree: one is enough */
    }
    while (others) {
        compare(self, &lanes[take(&others)]);
    }
}

/* Adds the caller to those that wait; true: its group is whole. */
static bool join(const emu_thread *self, emu_warp_state *warp)
{
    const emu_thread *lanes = self - self->lane;
    const uint32_t mask = self->mask;
    uint32_t here = 0;
    if (warp->meeting == 0) {
        warp->common = mask;
        warp->mixed = false;
    }
    warp->mixed |= warp->common != mask;
    warp->meeting |= 1u << self->lane;
    if (!warp->mixed) {
        return (warp->meeting & mask) == mask;
    }
    for (uint32_t left = warp->meeting & mask; left;) {
        const uint32_t lane = take(&left);
        here |= (uint32_t)(lanes[lane].mask == mask) << lane;
    }
    return here == mask;
}

/* What the caller brought stands in self. */
static void meet(emu_thread *self, emu_warp_state *warp)
{
    const uint32_t mask = self->mask;
    if (join(self, warp)) {
        compute(self->kind, self - self->lane, mask);
        warp->meeting &= ~mask;
        warp->syncs[__builtin_ctz(mask)]++;
        emu_wake(self->block, self->warp, mask & ~(1u << self->lane));
    } else {
        emu_wait(EMU_IN_WARP, self->line);
    }
}

uint64_t emu_warp(emu_kind kind, uint32_t mask, uint64_t value,
                  uint32_t operand, uint32_t width, int line)
{
    emu_thread *self = emu_the.self;
    emu_warp_state *warp = &self->block->warps[self->warp];
    self->kind = kind;
    self->mask = mask;
    self->value = value;
    self->operand = operand;
    self->width = width;
    self->line = line;
    check(self, warp);
    if (kind != EMU_SYNC_WARP) {
        meet(self, warp);
        return self->result;
    }
    /* Where ThreadSanitizer joins the lanes: no group with the same lowest
     * lane can overtake this one. */
    const uint32_t lane = (uint32_t)__builtin_ctz(mask);
    void *place = &warp->sync[lane][warp->syncs[lane] & 1u];
    emu_san_release(place);
    meet(self, warp);
    emu_san_acquire(place);
    return 0;
}

void emu_warp_end(emu_thread *self)
{
    const emu_warp_state *warp = &self->block->warps[self->warp];
    for (uint32_t left = warp->meeting; left;) {
        const emu_thread *other = &(self - self->lane)[take(&left)];
        if (other->mask >> self->lane & 1u) {
            emu_fail(other->line,
                     "%s: lane %u ended, and mask 0x%08x of lane %u names it",
                     names[other->kind], self->lane, other->mask, other->lane);
        }
    }
}
