/* fixture_tables.h: tables written by hand, for tests of the runtime alone.
 *
 *   scale  y = alpha * x + bias      x, y, bias (optional); f32, f64
 *   axpy   y += alpha * x            x, y (read and written); f32
 *   twice  y = (alpha * x) * alpha   by steps on a temporary; rank 1, f32
 *   grow   y = 1 * (0 + alpha * x)   the same, on a zeroed temporary
 *
 * scale has routes small (at most 64 elements) and map. Keys of f32 reach
 * 65,536 elements; those up to 1,048,576 are stale; those of f64 have forced
 * evidence. Profile "strict" keys the alignment and has 16 bytes alone.
 */
#ifndef KILN_TESTS_FIXTURE_TABLES_H
#define KILN_TESTS_FIXTURE_TABLES_H

#include "core/tables.h"

/* Defines kiln_generated_tables. Call fixture_tables_init first of all. */
extern const kiln_tables kiln_generated_tables;

#define FIXTURE_SMALL 64
#define FIXTURE_SERVED 65536
#define FIXTURE_LARGEST 1048576
#define FIXTURE_GRAIN 256

void fixture_tables_init(void);

/* A dense tensor of rank 1 on the cpu; size must outlive it. */
DLTensor fixture_vector(void *data, kiln_dtype dtype, int64_t *size);

#endif /* KILN_TESTS_FIXTURE_TABLES_H */
