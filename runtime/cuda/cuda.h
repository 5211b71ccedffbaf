/* cuda.h: a CUDA device through its driver: its facts, its primary context,
 * what is loaded there, and running a program on a stream of the caller.
 *
 * Every function leaves the calling thread's current context and capture mode
 * as they were. An error of the driver is returned with its text; none is
 * cleared that the caller has not seen. Thread-safe but for open and close.
 */
#ifndef KILN_CUDA_CUDA_H
#define KILN_CUDA_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "../core/plan.h"
#include "driver.h"

#define KILN_FAULT_NONE UINT64_MAX /* of the fault word */

typedef struct kiln_cuda_facts {
    char name[256];     /* "NVIDIA H200" */
    int32_t capability; /* major * 10 + minor */
    int32_t multiprocessors;
    int64_t shared_bytes; /* a block may ask for */
    int64_t l2_bytes;
} kiln_cuda_facts;

typedef struct kiln_cuda kiln_cuda;

/* driver NULL: the machine's; else copied. Holds the device's primary context
 * until closed. On failure *cuda is NULL: KILN_DEVICE_ERROR says what is
 * missing. */
kiln_status kiln_cuda_open(kiln_cuda **cuda, const kiln_cuda_driver *driver,
                           int device_id, const kiln_allocator *allocator,
                           kiln_error *err);
/* Unloads all. forked: in a forked child, where the driver must not be called:
 * the memory goes and nothing else. NULL is allowed. */
void kiln_cuda_close(kiln_cuda *cuda, bool forked);

const kiln_cuda_facts *kiln_cuda_get_facts(const kiln_cuda *cuda);
/* Device address of the fault word: 64 bits that kernels take the minimum of
 * with op << KILN_FAULT_SHIFT | position. */
uint64_t kiln_cuda_fault_address(const kiln_cuda *cuda);
/* Waits for the device, reads the fault word and sets it to none. */
kiln_status kiln_cuda_read_fault(kiln_cuda *cuda, uint64_t *word,
                                 kiln_error *err);

/* KILN_INVALID_ARGUMENT when stream is being captured; `what` begins the text:
 * "op softmax: kiln_plan_prepare". */
kiln_status kiln_cuda_check_capture(const kiln_cuda *cuda, void *stream,
                                    const char *what, kiln_error *err);
/* Loads what program launches and fills functions, one a node. */
kiln_status kiln_cuda_prepare(kiln_cuda *cuda, const kiln_program *program,
                              kiln_cu_function *functions, kiln_error *err);
/* Enqueues all launches in order. base[i]: address of buffer i. Takes no lock
 * and no memory. */
kiln_status kiln_cuda_run(const kiln_cuda *cuda, const kiln_program *program,
                          const kiln_cu_function *functions,
                          const uintptr_t *base, void *stream, kiln_error *err);

/* Memory in the order of stream's work, of the device's pool. */
kiln_status kiln_cuda_take(const kiln_cuda *cuda, size_t bytes, void *stream,
                           void **memory, kiln_error *err);
kiln_status kiln_cuda_give(const kiln_cuda *cuda, void *memory, void *stream,
                           kiln_error *err);

#endif /* KILN_CUDA_CUDA_H */
