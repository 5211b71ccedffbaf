/* cp.async: PTX ISA, "Data movement: non-bulk copies". What is read is read
 * when the copy is issued, so that a bad source is found at its line; it
 * lands at the wait that covers its group, and the target is poisoned until
 * then. */
#include "state.h"

#include <stdlib.h>

#include "san.h"

static void as(const emu_fiber *fiber)
{
#ifdef KILN_EMU_TSAN
    __tsan_switch_to_fiber(fiber->tsan, EMU_TSAN_NO_SYNC);
#endif
    (void)fiber;
}

void *emu_own_realloc(void *memory, size_t bytes)
{
    as(&emu_the.main);
    void *grown = realloc(memory, bytes);
    as(emu_the.self->fiber);
    return grown;
}

void emu_own_free(void *memory)
{
    as(&emu_the.main);
    free(memory);
    as(emu_the.self->fiber);
}

void emu_flights_push(emu_flights *flights, emu_flight flight)
{
    if (flights->n == flights->cap) {
        flights->cap = flights->cap ? 2 * flights->cap : 8;
        flights->list = emu_own_realloc(flights->list,
                                        flights->cap * sizeof flights->list[0]);
        if (!flights->list) {
            emu_fail(flight.line, "no memory for the copies in flight");
        }
    }
    flights->list[flights->n++] = flight;
}

static void check(const emu_thread *self, const void *shared,
                  const void *global, uint32_t bytes, uint32_t from)
{
    const uintptr_t both = (uintptr_t)shared | (uintptr_t)global;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || from > bytes) {
        emu_fail(self->line, "cp.async of %u of %u bytes", from, bytes);
    }
    if (both % bytes) {
        emu_fail(self->line, "cp.async of %u bytes: misaligned address", bytes);
    }
    if (emu_owner(shared, bytes) != self->block) {
        emu_fail(self->line, "cp.async: target outside of shared memory");
    }
}

void emu_copy(void *shared, const void *global, uint32_t bytes, uint32_t from,
              int line)
{
    emu_thread *self = emu_the.self;
    self->line = line;
    check(self, shared, global, bytes, from);
    emu_flight flight = {.to = shared,
                         .bytes = bytes,
                         .group = self->copies.group,
                         .line = line};
    emu_san_read(flight.data, global, from);
    emu_san_landed(shared, bytes);
    emu_san_write_fill(shared, EMU_POISON, bytes);
    emu_san_in_flight(shared, bytes);
    emu_flights_push(&self->copies, flight);
}

void emu_copy_commit(int line)
{
    emu_the.self->line = line;
    emu_the.self->copies.group++;
}

void emu_copy_wait(uint32_t pending, int line)
{
    emu_flights *copies = &emu_the.self->copies;
    uint32_t left = 0;
    emu_the.self->line = line;
    for (uint32_t i = 0; i < copies->n; i++) {
        const emu_flight flight = copies->list[i];
        if (copies->group - flight.group <= pending) {
            copies->list[left++] = flight;
            continue;
        }
        emu_san_landed(flight.to, flight.bytes);
        emu_san_write(flight.to, flight.data, flight.bytes);
    }
    copies->n = left;
}

void emu_copy_end(emu_thread *self)
{
    if (self->copies.n) {
        const emu_flight *first = &self->copies.list[0];
        self->copies.n = 0;
        emu_fail(first->line, "cp.async: nothing ever waits for this copy");
    }
}
