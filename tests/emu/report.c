/* Errors: their text, and who was running when a sanitizer found one. */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "san.h"

/* Groups of waiting threads that a deadlock's text lists. */
enum { MAX_GROUPS = 12 };

static unsigned races;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add_list(const char *format, va_list list)
{
    const size_t used = strlen(emu_the.text);
    vsnprintf(emu_the.text + used, emu_the.cap - used, format, list);
}

static void add(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_list(format, list);
    va_end(list);
}

static void add_block(const emu_block *block)
{
    add("kernel %s, block %u", emu_the.job->kernel, block->place.block_index.x);
}

void emu_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    emu_the.text[0] = '\0';
    add_list(format, list);
    va_end(list);
    emu_the.failed = true;
}

/* Threads that have not ended are left where they are: kernels own nothing
 * that would have to be freed. */
static _Noreturn void give_up(void)
{
    emu_the.failed = true;
    emu_fiber_quit(emu_the.self->fiber, &emu_the.main);
    __builtin_unreachable();
}

_Noreturn void emu_fail(int line, const char *format, ...)
{
    const emu_thread *self = emu_the.self;
    va_list list;
    emu_the.text[0] = '\0';
    add_block(self->block);
    add(", thread %u, line %d: ", self->id, line);
    va_start(list, format);
    add_list(format, list);
    va_end(list);
    give_up();
}

void emu_refuse(int line, const char *what)
{
    emu_fail(line, "%s", what);
}

static void add_wait(const emu_thread *thread)
{
    const emu_bar *bar = &thread->block->bars[thread->barrier];
    switch (thread->why) {
    case EMU_IN_WARP:
        add("a warp collective with mask 0x%08x, whose lanes 0x%08x came",
            thread->mask,
            thread->mask & thread->block->warps[thread->warp].meeting);
        break;
    case EMU_AT_BARRIER:
        add("barrier %u, where %d warps came of %d", thread->barrier,
            __builtin_popcount(bar->counted),
            bar->count ? (int)(bar->count / EMU_LANES)
                       : __builtin_popcount(thread->block->live_warps));
        break;
    case EMU_AT_CLUSTER:
        add("the cluster's barrier, where %u threads came of %u",
            emu_the.cluster_arrived, emu_the.live);
        break;
    case EMU_AT_MBARRIER:
        add("phase parity %u of an mbarrier", thread->parity);
        break;
    case EMU_YIELDS:
        add("memory that it polls");
        break;
    case EMU_RUNS:
        add("nothing");
        break;
    }
}

static bool alike(const emu_thread *a, const emu_thread *b)
{
    return a->why == b->why && a->line == b->line && a->mask == b->mask;
}

/* The threads of a block that wait, neighbours that wait alike as one. */
static int add_waits(const emu_block *block, int groups)
{
    const uint32_t n = emu_the.job->threads;
    uint32_t first = 0;
    while (first < n && groups < MAX_GROUPS) {
        const emu_thread *thread = &block->threads[first];
        uint32_t end = first + 1;
        if (block->warps[thread->warp].live >> thread->lane & 1u) {
            while (end < n && alike(thread, &block->threads[end]) &&
                   block->warps[end / EMU_LANES].live >> end % EMU_LANES & 1u) {
                end++;
            }
            add("\n  block %u, threads %u to %u wait at line %d for ",
                block->place.block_index.x, first, end - 1, thread->line);
            add_wait(thread);
            groups++;
        }
        first = end;
    }
    return groups;
}

_Noreturn void emu_deadlock(void)
{
    int groups = 0;
    emu_the.text[0] = '\0';
    add_block(emu_the.self->block);
    add(": deadlock: no thread can go on");
    for (uint32_t b = 0; b < emu_the.job->cluster; b++) {
        groups = add_waits(&emu_the.blocks[b], groups);
    }
    if (groups == MAX_GROUPS) {
        add("\n  and others");
    }
    give_up();
}

#if defined(KILN_EMU_ASAN) || defined(KILN_EMU_TSAN)

/* Who ran when a sanitizer spoke; its report has the line. */
static void name_thread(void)
{
    const emu_thread *self = emu_the.self;
    if (self && emu_the.job) {
        fprintf(stderr,
                "kiln-emu: this was kernel %s, block %u, thread %u, whose last "
                "collective, barrier or copy was at line %d\n",
                emu_the.job->kernel, self->block->place.block_index.x, self->id,
                self->line);
    }
}

#endif

#ifdef KILN_EMU_TSAN

/* Called by ThreadSanitizer after each report it prints. */
void __tsan_on_report(void *report);

void __tsan_on_report(void *report)
{
    (void)report;
    races++;
    name_thread();
}

#endif

void emu_report_install(void)
{
    races = 0;
#ifdef KILN_EMU_ASAN
    __sanitizer_set_death_callback(name_thread);
#endif
}

unsigned emu_report_races(void)
{
    return races;
}
