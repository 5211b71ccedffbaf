/* state.h: what the files of runtime/cuda share. */
#ifndef KILN_CUDA_STATE_H
#define KILN_CUDA_STATE_H

#include <pthread.h>

#include "cuda.h"

#define KILN_CUDA_BUCKETS 64 /* a power of two */

/* A kernel that was resolved, with the limits it was given. */
typedef struct kiln_cuda_loaded {
    const kiln_kernel *kernel;
    kiln_cu_function function;
    int32_t shared; /* dynamic bytes allowed */
    bool wide;      /* clusters past the portable size allowed */
    struct kiln_cuda_loaded *next;
} kiln_cuda_loaded;

typedef struct kiln_cuda_module {
    const kiln_module *source;
    kiln_cu_module module;
    struct kiln_cuda_module *next;
} kiln_cuda_module;

struct kiln_cuda {
    kiln_arena arena; /* owns all below and this itself */
    kiln_cuda_driver driver;
    kiln_cuda_facts facts;
    kiln_cu_device device;
    kiln_cu_context context; /* NULL: not retained */
    kiln_cu_stream stream;   /* for the fault word alone; NULL: none */
    kiln_cu_pointer fault;   /* 0: none */
    bool locked;             /* lock was made */
    pthread_mutex_t lock;    /* guards arena and what is loaded */
    kiln_cuda_module *modules;
    kiln_cuda_loaded *loaded[KILN_CUDA_BUCKETS]; /* by kernel */
};

/* Sets the error to the formatted text, the driver's own and its name. */
kiln_status kiln_cuda_fail(const kiln_cuda_driver *driver,
                           kiln_cu_result result, kiln_error *err,
                           const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What a thread had before. */
typedef struct kiln_cuda_scope {
    bool pushed;
    bool relaxed;
    int mode;
} kiln_cuda_scope;

/* Makes the device's context current, unless it is. Leave only if it did. */
kiln_status kiln_cuda_enter(const kiln_cuda *cuda, kiln_cuda_scope *scope,
                            kiln_error *err);
/* The same for work that is no part of a capture: one that goes on elsewhere
 * in the process is neither disturbed nor in the way. */
kiln_status kiln_cuda_enter_apart(const kiln_cuda *cuda, kiln_cuda_scope *scope,
                                  kiln_error *err);
void kiln_cuda_leave(const kiln_cuda *cuda, const kiln_cuda_scope *scope);

#endif /* KILN_CUDA_STATE_H */
