/* cuda_tables.h: the ops of fixture_tables.h with kernels for CUDA devices.
 *
 * Of config block=1: scale 256 threads, a block an element; axpy clusters of
 * 16 blocks, 64 KB of shared memory, and the fault word as its last two
 * arguments. Of config block=2: scale takes a million blocks an element and
 * 100,000 bytes. scale of f64 asks for 2,000 threads, which no block has.
 *
 * Profiles h200 and h100 of sm90, a100 and rtx30 of sm80 (whose module is
 * empty), t4 of sm75 (without tables), plain of the cpu.
 */
#ifndef KILN_TESTS_CUDA_TABLES_H
#define KILN_TESTS_CUDA_TABLES_H

#include <stdbool.h>

#include "fixture_tables.h"

#define CUDA_THREADS 256
#define CUDA_CLUSTER 16
#define CUDA_SHARED 65536
#define CUDA_SHARED_MORE 100000
#define CUDA_AXPY 0 /* its index in the tables */

/* Also calls fixture_tables_init. */
const kiln_tables *cuda_tables(void);

/* Changes a byte of sm90's module, or puts it back. */
void cuda_tables_damage(bool damaged);

/* A dense tensor of rank 1 on device 0; size must outlive it. */
DLTensor cuda_vector(void *data, kiln_dtype dtype, int64_t *size);

#endif /* KILN_TESTS_CUDA_TABLES_H */
