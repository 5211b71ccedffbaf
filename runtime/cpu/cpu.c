#define _GNU_SOURCE
#include "cpu.h"

#include <assert.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#endif

const char *const kiln_cpu_isas[] = {"avx2", "base", NULL};

/* __builtin_cpu_supports also asks whether the system saves the registers.
 * clang 14 does not know its "f16c": CPUID leaf 1, ECX bit 29 (Intel SDM,
 * volume 2, table 3-10). */
static bool has_avx2(void)
{
#if defined(__x86_64__)
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
#else
    return false;
#endif
}

bool kiln_cpu_has(const char *isa)
{
    if (strcmp(isa, "avx2") == 0) {
        return has_avx2();
    }
    return strcmp(isa, "base") == 0;
}

/* cpu_set_t ends at 1,024 processors; a larger machine refuses it. */
int kiln_cpu_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    long n = 0;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        n = CPU_COUNT(&set);
    } else {
        n = sysconf(_SC_NPROCESSORS_ONLN);
    }
    if (n < 1) {
        return 1;
    }
    return n < KILN_MAX_THREADS ? (int)n : KILN_MAX_THREADS;
}

/* --- running -------------------------------------------------------------- */

typedef struct launch {
    kiln_cpu_kernel *kernel;
    const uint64_t *args;
} launch;

/* Kernels run with rounding to nearest, denormals kept and exceptions masked,
 * whatever the calling thread has set: else bits would depend on which thread
 * does which units. */
#if defined(__x86_64__)
#define MXCSR_FLAGS 0x3fu
#define MXCSR_DEFAULT 0x1f80u

static void run_units(void *arg, int64_t first, int64_t last)
{
    const launch *work = arg;
    const unsigned old = _mm_getcsr();
    if ((old & ~MXCSR_FLAGS) == MXCSR_DEFAULT) {
        work->kernel(work->args, first, last);
        return;
    }
    _mm_setcsr(MXCSR_DEFAULT);
    work->kernel(work->args, first, last);
    _mm_setcsr(old);
}
#else
static void run_units(void *arg, int64_t first, int64_t last)
{
    const launch *work = arg;
    work->kernel(work->args, first, last);
}
#endif

static void run_node(const kiln_node *node, kiln_pool *pool,
                     const uintptr_t *base)
{
    uint64_t args[KILN_MAX_SLOTS];
    launch work = {node->kernel->cpu, args};
    assert(node->n_args <= KILN_MAX_SLOTS && node->grain >= 1);
    memcpy(args, node->args, (size_t)node->n_args * sizeof(args[0]));
    for (int32_t i = 0; i < node->n_patches; i++) {
        const kiln_patch *patch = &node->patches[i];
        args[patch->slot] = base[patch->buffer] + (uint64_t)patch->offset;
    }
    kiln_pool_run(pool, run_units, &work, node->units, node->grain);
}

static void clear_buffer(const kiln_buffer *buffer, uintptr_t base)
{
    memset((void *)base, 0, (size_t)buffer->bytes);
}

bool kiln_cpu_is_parallel(const kiln_program *program)
{
    for (int32_t i = 0; i < program->n_nodes; i++) {
        const kiln_node *node = &program->nodes[i];
        if (node->kernel != NULL && node->units > node->grain) {
            return true;
        }
    }
    return false;
}

void kiln_cpu_run(const kiln_program *program, kiln_pool *pool,
                  const uintptr_t *base)
{
    for (int32_t i = 0; i < program->n_nodes; i++) {
        const kiln_node *node = &program->nodes[i];
        if (node->memset_buffer >= 0) {
            clear_buffer(&program->buffers[node->memset_buffer],
                         base[node->memset_buffer]);
        } else {
            run_node(node, pool, base);
        }
    }
}
