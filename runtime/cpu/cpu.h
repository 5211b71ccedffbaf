/* cpu.h: the cpu tier: what this processor can run, and running a program. */
#ifndef KILN_CPU_CPU_H
#define KILN_CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "../core/plan.h"
#include "pool.h"

/* The ISA levels that kernels are built for, best first, NULL last. */
extern const char *const kiln_cpu_isas[];
/* Whether this processor and its system run code of that level; false for an
 * unknown name. */
bool kiln_cpu_has(const char *isa);
/* Processors that this thread may run on, at least 1. */
int kiln_cpu_count(void);
/* Whether any launch of program is worth more than one thread. */
bool kiln_cpu_is_parallel(const kiln_program *program);
/* Runs all launches in order. base[i]: address of buffer i. */
void kiln_cpu_run(const kiln_program *program, kiln_pool *pool,
                  const uintptr_t *base);

#endif /* KILN_CPU_CPU_H */
