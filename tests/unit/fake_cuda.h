/* fake_cuda.h: a CUDA driver for tests of the runtime: no device, no work but
 * copies and clears of host memory. It counts calls, keeps what is alive,
 * records launches, and fails when told.
 *
 * A call that gives something back does so even when it is told to fail, as
 * a driver's does whose error is of earlier work. When the primary context is
 * released for the last time what is still alive goes, and is counted.
 */
#ifndef KILN_TESTS_FAKE_CUDA_H
#define KILN_TESTS_FAKE_CUDA_H

#include <stdatomic.h>
#include <stdint.h>

#include "cuda/cuda.h"

typedef enum fake_call {
    FAKE_INIT,
    FAKE_DEVICE,
    FAKE_RETAIN,
    FAKE_RELEASE,
    FAKE_GET_CURRENT,
    FAKE_PUSH,
    FAKE_POP,
    FAKE_SYNCHRONIZE,
    FAKE_MODULE_LOAD,
    FAKE_MODULE_UNLOAD,
    FAKE_GET_FUNCTION,
    FAKE_FUNC_LOAD,
    FAKE_FUNC_ATTRIBUTE,
    FAKE_STREAM_CREATE,
    FAKE_STREAM_DESTROY,
    FAKE_STREAM_SYNCHRONIZE,
    FAKE_IS_CAPTURING,
    FAKE_EXCHANGE_MODE,
    FAKE_MEM_ALLOC,
    FAKE_MEM_FREE,
    FAKE_MEM_ALLOC_ASYNC,
    FAKE_MEM_FREE_ASYNC,
    FAKE_MEMSET,
    FAKE_MEMCPY,
    FAKE_LAUNCH,
    FAKE_N_CALLS
} fake_call;

typedef struct fake_launch {
    kiln_cu_launch_config config;
    unsigned cluster; /* of its attribute; 0: none */
    const char *function;
    uint64_t args[KILN_MAX_SLOTS];
    size_t bytes;
} fake_launch;

#define FAKE_LAUNCHES 8 /* the last ones are kept */

typedef struct fake_cuda {
    /* What the device says of itself. */
    const char *name;
    int capability;
    int shared_bytes;
    int devices;
    /* What is to fail. */
    int fail_at; /* the call of that number, from 1; 0: none */
    kiln_cu_result failure;
    kiln_cu_result sticky; /* of every call that does work; 0: none */
    int capture;           /* state of every stream */
    kiln_cu_result capture_result;
    const char *missing; /* a function that modules lack */
    /* What happened. */
    atomic_int n_calls;
    atomic_int calls[FAKE_N_CALLS];
    fake_call failed;       /* the call that failed */
    atomic_int astray;      /* calls without the primary context */
    atomic_int mode_global; /* unsafe calls in another mode than relaxed */
    atomic_int alive;       /* modules, streams, memory */
    atomic_int left;        /* alive at the last release */
    atomic_int retained;
    int shared_limit; /* last given to a function */
    int wide;         /* functions that may have wide clusters */
    int n_launches;
    fake_launch launches[FAKE_LAUNCHES];
} fake_cuda;

/* The one there is. */
extern fake_cuda fake;
extern const kiln_cuda_driver fake_driver;

/* An H200, nothing to fail, no calls. */
void fake_reset(void);
/* The calling thread's current context, its depth and its capture mode. */
void *fake_current(void);
int fake_depth(void);
int fake_mode(void);
void fake_push(void *context);
void fake_pop(void);

#endif /* KILN_TESTS_FAKE_CUDA_H */
