/* gpu.h: a CUDA device for one thread: memory, copies, graphs, clocks. All
 * work goes to one stream, in order. Functions that return a bool give false
 * with the reason in why.
 */
#ifndef KILN_TESTS_GPU_H
#define KILN_TESTS_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/driver.h"

#define GPU_ALIGN 256 /* of all memory */
#define GPU_MARKS 1024

typedef struct gpu {
    const kiln_cuda_driver *driver;
    kiln_cu_device device;
    kiln_cu_context context; /* NULL: not open; else the thread's current */
    kiln_cu_stream stream;
    kiln_cu_event marks[GPU_MARKS]; /* made when first used */
    kiln_error error;
    const char *why; /* of the latest failure */
} gpu;

/* Zeroed: none. */
typedef struct gpu_memory {
    kiln_cu_pointer at;
    size_t bytes;
} gpu_memory;

/* Device 0 of certify_driver(). */
bool gpu_open(gpu *g);
/* Memory and graphs must have been given back. */
void gpu_close(gpu *g);
/* Waits. false: the device takes no more work of this process. */
bool gpu_wait(gpu *g);

/* At least so many bytes, what they hold undefined; more than once a growing
 * size costs little. exact: newly taken, to the byte. */
bool gpu_fit(gpu *g, gpu_memory *memory, size_t bytes, bool exact);
void gpu_drop(gpu *g, gpu_memory *memory);
bool gpu_set(gpu *g, kiln_cu_pointer at, int byte, size_t bytes);
/* host may be changed at once. */
bool gpu_put(gpu *g, kiln_cu_pointer at, const void *host, size_t bytes);
/* Into host, which is complete after gpu_wait. */
bool gpu_get(gpu *g, void *host, kiln_cu_pointer at, size_t bytes);
/* Repeats the first `head` bytes up to `bytes`. */
bool gpu_repeat(gpu *g, kiln_cu_pointer at, size_t head, size_t bytes);

/* What is put into the stream between begin and end becomes a graph. */
bool gpu_begin(gpu *g);
bool gpu_end(gpu *g, kiln_cu_exec *graph);
bool gpu_replay(gpu *g, kiln_cu_exec graph);
void gpu_forget(gpu *g, kiln_cu_exec graph); /* NULL is allowed */

/* Notes the time when the stream comes here; microseconds between two marks,
 * after gpu_wait. */
bool gpu_mark(gpu *g, int mark);
bool gpu_between(gpu *g, int from, int to, double *us);

#endif /* KILN_TESTS_GPU_H */
