/* mbarrier objects and cp.async.bulk: PTX ISA, "mbarrier" and "Data movement:
 * bulk copies".
 *
 * A bulk load lands when no thread can go on without it, one at a time in the
 * order of issue: as late as hardware could be. What it will write is
 * poisoned until then. A bulk store reads its source and writes its target at
 * the wait for its group. */
#include "state.h"

#include <stdlib.h>

#include "san.h"

enum { MAX_MBARS = 1024 };

struct emu_mbar {
    uint64_t *at;
    uint32_t count;   /* arrivals a phase */
    uint32_t pending; /* still to arrive in this one */
    int64_t bytes;    /* still to land; expected before or after */
    uint32_t phase;
    uint64_t sync[2];
};

typedef struct load {
    void *to;
    unsigned char *data;
    uint32_t bytes;
    emu_mbar *mbar;
} load;

static emu_mbar mbars[MAX_MBARS];
static uint32_t n_mbars;
static load *loads;
static uint32_t n_loads;
static uint32_t cap_loads;
#ifdef KILN_EMU_TSAN
static void *agent; /* who copies, to ThreadSanitizer */
#endif

void emu_bulk_begin(void)
{
    for (uint32_t i = 0; i < n_loads; i++) {
        emu_san_landed(loads[i].to, loads[i].bytes);
        free(loads[i].data);
    }
    n_loads = 0;
    n_mbars = 0;
}

const char *emu_bulk_left(void)
{
    return n_loads ? "ended before its bulk loads landed: nothing waits for "
                     "one of them"
                   : NULL;
}

static emu_mbar *find(const uint64_t *bar)
{
    for (uint32_t i = 0; i < n_mbars; i++) {
        if (mbars[i].at == bar) {
            return &mbars[i];
        }
    }
    return NULL;
}

/* A use is a read to ThreadSanitizer, and initialising a write: a barrier
 * must stand between. */
static emu_mbar *use(uint64_t *bar, int line)
{
    emu_mbar *mbar = find(bar);
    uint64_t word;
    emu_the.self->line = line;
    if (!mbar) {
        emu_fail(line, "mbarrier: not initialised");
    }
    emu_san_read(&word, bar, sizeof word);
    return mbar;
}

void emu_mbarrier_init(uint64_t *bar, uint32_t count, int line)
{
    const uint64_t word = count;
    emu_mbar *mbar = find(bar);
    emu_the.self->line = line;
    if ((uintptr_t)bar % 8 || emu_owner(bar, 8) != emu_the.self->block) {
        emu_fail(line, "mbarrier: not 8 aligned bytes of shared memory");
    }
    if (count == 0 || count >= 1u << 20 || n_mbars == MAX_MBARS) {
        emu_fail(line, "mbarrier: %u arrivals, or too many objects", count);
    }
    if (!mbar) {
        mbar = &mbars[n_mbars++];
    }
    *mbar = (emu_mbar){.at = bar, .count = count, .pending = count};
    emu_san_write(bar, &word, sizeof word);
    /* fence.mbarrier_init: seen after the cluster's next barrier, also when
     * this thread's arrival there is relaxed. */
    emu_san_release(&emu_the.cluster_sync[emu_the.cluster_phase & 1u]);
}

void emu_mbarrier_inval(uint64_t *bar, int line)
{
    use(bar, line)->at = NULL;
}

/* True: threads were woken. */
static bool complete(emu_mbar *mbar)
{
    if (mbar->pending || mbar->bytes) {
        return false;
    }
    mbar->pending = mbar->count;
    mbar->phase++;
    emu_wake_all(EMU_AT_MBARRIER, mbar);
    return true;
}

void emu_mbarrier_arrive(uint64_t *bar, uint32_t expect_bytes, int line)
{
    emu_mbar *mbar = use(bar, line);
    if (mbar->pending == 0) {
        emu_fail(line, "mbarrier: more arrivals in a phase than its %u",
                 mbar->count);
    }
    emu_san_release(&mbar->sync[mbar->phase & 1u]);
    mbar->bytes += expect_bytes;
    mbar->pending--;
    complete(mbar);
}

void emu_mbarrier_wait(uint64_t *bar, uint32_t parity, int line)
{
    emu_thread *self = emu_the.self;
    emu_mbar *mbar = use(bar, line);
    if (emu_owner(bar, 8) != self->block) {
        emu_fail(line, "mbarrier: only the block that holds it may wait");
    }
    while ((mbar->phase & 1u) == parity) {
        self->mbar = mbar;
        self->parity = parity;
        emu_wait(EMU_AT_MBARRIER, line);
    }
    emu_san_acquire(&mbar->sync[parity & 1u]);
}

static load *new_load(int line)
{
    if (n_loads == cap_loads) {
        cap_loads = cap_loads ? 2 * cap_loads : 64;
        loads = emu_own_realloc(loads, cap_loads * sizeof loads[0]);
        if (!loads) {
            emu_fail(line, "no memory for the copies in flight");
        }
    }
    return &loads[n_loads++];
}

static void check(const void *shared, const void *global, uint32_t bytes,
                  int line)
{
    const uintptr_t both = (uintptr_t)shared | (uintptr_t)global | bytes;
    emu_the.self->line = line;
    if (both % 16 || bytes == 0) {
        emu_fail(line,
                 "bulk copy of %u bytes: addresses and size must be "
                 "multiples of 16",
                 bytes);
    }
    if (!emu_owner(shared, bytes)) {
        emu_fail(line, "bulk copy: outside of shared memory");
    }
}

/* Poisons the target until what `from` holds now lands there. */
static void put(void *to, const void *from, uint32_t bytes, emu_mbar *mbar,
                int line)
{
    load *entry = new_load(line);
    *entry = (load){.to = to,
                    .data = emu_own_realloc(NULL, bytes),
                    .bytes = bytes,
                    .mbar = mbar};
    if (!entry->data) {
        emu_fail(line, "no memory for the copies in flight");
    }
    emu_san_read(entry->data, from, bytes);
    emu_san_landed(to, bytes);
    emu_san_write_fill(to, EMU_POISON, bytes);
    emu_san_in_flight(to, bytes);
    emu_san_release(&mbar->sync[mbar->phase & 1u]);
}

void emu_bulk_load(void *shared, const void *global, uint32_t bytes,
                   uint64_t *bar, int line)
{
    check(shared, global, bytes, line);
    emu_mbar *mbar = use(bar, line);
    if (emu_owner(bar, 8) != emu_owner(shared, bytes)) {
        emu_fail(line, "bulk copy: its mbarrier is in another block");
    }
    put(shared, global, bytes, mbar, line);
}

void emu_send(void *to, const void *value, uint32_t bytes, uint64_t *bar,
              int line)
{
    emu_cluster_access(to, bytes, line);
    emu_cluster_access(bar, 8, line);
    emu_mbar *mbar = use(bar, line);
    if (emu_owner(bar, 8) != emu_owner(to, bytes)) {
        emu_fail(line, "asynchronous store: its mbarrier is in another block");
    }
    put(to, value, bytes, mbar, line);
}

/* The bytes arrive, written by nobody's thread. */
static void write_landed(const load *entry)
{
    const emu_block *owner = emu_owner(entry->to, entry->bytes);
    if (owner->live_warps == 0) {
        emu_fail(emu_the.self->line,
                 "block %u ended before a copy landed in "
                 "its shared memory",
                 owner->place.block_index.x);
    }
    emu_san_landed(entry->to, entry->bytes);
#ifdef KILN_EMU_TSAN
    void *sync = &entry->mbar->sync[entry->mbar->phase & 1u];
    if (!agent) {
        agent = __tsan_create_fiber(0);
        __tsan_set_fiber_name(agent, "bulk copies");
    }
    __tsan_switch_to_fiber(agent, EMU_TSAN_NO_SYNC);
    __tsan_acquire(sync);
    emu_san_write(entry->to, entry->data, entry->bytes);
    __tsan_release(sync);
    __tsan_switch_to_fiber(emu_the.self->fiber->tsan, EMU_TSAN_NO_SYNC);
#else
    emu_san_write(entry->to, entry->data, entry->bytes);
#endif
    emu_own_free(entry->data);
}

bool emu_bulk_land(void)
{
    bool woke = false;
    uint32_t done = 0;
    while (!woke && done < n_loads) {
        const load entry = loads[done++];
        write_landed(&entry);
        entry.mbar->bytes -= entry.bytes;
        woke = complete(entry.mbar);
    }
    n_loads -= done;
    for (uint32_t i = 0; i < n_loads; i++) {
        loads[i] = loads[i + done];
    }
    return woke;
}

void emu_bulk_store(void *global, const void *shared, uint32_t bytes, int line)
{
    emu_flights *stores = &emu_the.self->stores;
    check(shared, global, bytes, line);
    emu_flights_push(stores, (emu_flight){.to = global,
                                          .from = shared,
                                          .bytes = bytes,
                                          .group = stores->group,
                                          .line = line});
}

void emu_bulk_commit(int line)
{
    emu_the.self->line = line;
    emu_the.self->stores.group++;
}

void emu_bulk_wait(uint32_t pending, int read, int line)
{
    emu_flights *stores = &emu_the.self->stores;
    uint32_t left = 0;
    (void)read;
    emu_the.self->line = line;
    for (uint32_t i = 0; i < stores->n; i++) {
        const emu_flight flight = stores->list[i];
        if (stores->group - flight.group <= pending) {
            stores->list[left++] = flight;
        } else {
            memcpy(flight.to, flight.from, flight.bytes);
        }
    }
    stores->n = left;
}

void emu_bulk_end(emu_thread *self)
{
    if (self->stores.n) {
        const emu_flight *first = &self->stores.list[0];
        self->stores.n = 0;
        emu_fail(first->line, "bulk store: nothing waits until its source in "
                              "shared memory was read");
    }
}
