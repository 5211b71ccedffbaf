/* driver.h: what kiln uses of the CUDA driver API, declared here so that the
 * library builds where no toolkit is installed, and opened at run time so
 * that it loads where no driver is.
 *
 * Names, values and layouts are those of the CUDA Driver API Reference,
 * sections "Data types used by CUDA driver" and the function's own; their
 * binary interface does not change. tests/unit/test_cuda_driver.c holds every
 * one against <cuda.h>.
 */
#ifndef KILN_CUDA_DRIVER_H
#define KILN_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "../core/error.h"

typedef int kiln_cu_result;       /* CUresult */
typedef int kiln_cu_device;       /* CUdevice: an ordinal's handle */
typedef uint64_t kiln_cu_pointer; /* CUdeviceptr */
typedef void *kiln_cu_context;    /* CUcontext */
typedef void *kiln_cu_module;     /* CUmodule */
typedef void *kiln_cu_function;   /* CUfunction */
typedef void *kiln_cu_stream;     /* CUstream; NULL: the legacy default */
typedef void *kiln_cu_event;      /* CUevent */
typedef void *kiln_cu_graph;      /* CUgraph */
typedef void *kiln_cu_exec;       /* CUgraphExec */

/* CUresult. */
enum {
    KILN_CU_SUCCESS = 0,
    KILN_CU_INVALID_VALUE = 1,
    KILN_CU_OUT_OF_MEMORY = 2,
    KILN_CU_NOT_INITIALIZED = 3,
    KILN_CU_DEINITIALIZED = 4,
    KILN_CU_NO_DEVICE = 100,
    KILN_CU_INVALID_DEVICE = 101,
    KILN_CU_INVALID_IMAGE = 200,
    KILN_CU_INVALID_CONTEXT = 201,
    KILN_CU_NO_BINARY_FOR_GPU = 209,
    KILN_CU_INVALID_HANDLE = 400,
    KILN_CU_NOT_FOUND = 500,
    KILN_CU_ILLEGAL_ADDRESS = 700,
    KILN_CU_LAUNCH_OUT_OF_RESOURCES = 701,
    KILN_CU_LAUNCH_TIMEOUT = 702,
    KILN_CU_ASSERT = 710,
    KILN_CU_HARDWARE_STACK_ERROR = 714,
    KILN_CU_ILLEGAL_INSTRUCTION = 715,
    KILN_CU_MISALIGNED_ADDRESS = 716,
    KILN_CU_INVALID_ADDRESS_SPACE = 717,
    KILN_CU_INVALID_PC = 718,
    KILN_CU_LAUNCH_FAILED = 719,
    KILN_CU_CAPTURE_UNSUPPORTED = 900, /* STREAM_CAPTURE_UNSUPPORTED */
    KILN_CU_CAPTURE_INVALIDATED = 901,
    KILN_CU_CAPTURE_IMPLICIT = 906
};

/* CUdevice_attribute. */
enum {
    KILN_CU_DEVICE_MULTIPROCESSOR_COUNT = 16,
    KILN_CU_DEVICE_L2_CACHE_SIZE = 38,
    KILN_CU_DEVICE_CAPABILITY_MAJOR = 75, /* COMPUTE_CAPABILITY_MAJOR */
    KILN_CU_DEVICE_CAPABILITY_MINOR = 76,
    KILN_CU_DEVICE_SHARED_OPTIN = 97, /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    KILN_CU_DEVICE_MEMORY_POOLS = 115 /* MEMORY_POOLS_SUPPORTED */
};

/* CUfunction_attribute. */
enum {
    KILN_CU_FUNC_MAX_DYNAMIC_SHARED = 8,   /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    KILN_CU_FUNC_NON_PORTABLE_CLUSTER = 14 /* ..._CLUSTER_SIZE_ALLOWED */
};

/* CUstreamCaptureStatus. */
enum {
    KILN_CU_CAPTURE_NONE = 0,
    KILN_CU_CAPTURE_ACTIVE = 1,
    KILN_CU_CAPTURE_BROKEN = 2 /* INVALIDATED */
};

/* CUstreamCaptureMode. */
enum {
    KILN_CU_MODE_GLOBAL = 0,
    KILN_CU_MODE_THREAD_LOCAL = 1,
    KILN_CU_MODE_RELAXED = 2
};

/* CUstream_flags. */
enum { KILN_CU_STREAM_NON_BLOCKING = 1 };

/* CUevent_flags. */
enum { KILN_CU_EVENT_DEFAULT = 0 };

/* Markers in cuLaunchKernelEx's `extra`: CU_LAUNCH_PARAM_... */
#define KILN_CU_PARAM_END ((void *)0)
#define KILN_CU_PARAM_BUFFER ((void *)1)
#define KILN_CU_PARAM_SIZE ((void *)2) /* then a size_t * */

/* CUlaunchAttributeID. */
enum { KILN_CU_LAUNCH_CLUSTER = 4 }; /* CLUSTER_DIMENSION */

/* CUlaunchAttribute. */
typedef struct kiln_cu_launch_attribute {
    int id;
    char pad[4];
    union {
        uint64_t pad[8];
        struct {
            unsigned x;
            unsigned y;
            unsigned z;
        } cluster; /* clusterDim */
    } value;
} kiln_cu_launch_attribute;

/* CUlaunchConfig. */
typedef struct kiln_cu_launch_config {
    unsigned grid_x;
    unsigned grid_y;
    unsigned grid_z;
    unsigned block_x;
    unsigned block_y;
    unsigned block_z;
    unsigned shared_bytes;
    kiln_cu_stream stream;
    kiln_cu_launch_attribute *attributes;
    unsigned n_attributes;
} kiln_cu_launch_config;

/* The functions, in the order of driver.c's list of names. Members say what
 * the function's name does; those from func_load on may be NULL. All but the
 * first two groups want a current context. */
typedef struct kiln_cuda_driver {
    /* cuInit, cuDriverGetVersion, cuGetErrorName, cuGetErrorString */
    kiln_cu_result (*init)(unsigned flags);
    kiln_cu_result (*driver_get_version)(int *version);
    kiln_cu_result (*get_error_name)(kiln_cu_result error, const char **name);
    kiln_cu_result (*get_error_string)(kiln_cu_result error, const char **text);

    /* cuDevice..., cuDevicePrimaryCtx..., cuCtx... */
    kiln_cu_result (*device_get_count)(int *count);
    kiln_cu_result (*device_get)(kiln_cu_device *device, int ordinal);
    kiln_cu_result (*device_get_name)(char *name, int cap,
                                      kiln_cu_device device);
    kiln_cu_result (*device_get_attribute)(int *value, int attribute,
                                           kiln_cu_device device);
    kiln_cu_result (*primary_ctx_retain)(kiln_cu_context *context,
                                         kiln_cu_device device);
    kiln_cu_result (*primary_ctx_release)(kiln_cu_device device);
    kiln_cu_result (*ctx_get_current)(kiln_cu_context *context);
    kiln_cu_result (*ctx_push_current)(kiln_cu_context context);
    kiln_cu_result (*ctx_pop_current)(kiln_cu_context *context);
    kiln_cu_result (*ctx_synchronize)(void);

    /* cuModule..., cuFuncSetAttribute */
    kiln_cu_result (*module_load_data)(kiln_cu_module *module,
                                       const void *image);
    kiln_cu_result (*module_unload)(kiln_cu_module module);
    kiln_cu_result (*module_get_function)(kiln_cu_function *function,
                                          kiln_cu_module module,
                                          const char *name);
    kiln_cu_result (*func_set_attribute)(kiln_cu_function function,
                                         int attribute, int value);

    /* cuStream..., cuThreadExchangeStreamCaptureMode */
    kiln_cu_result (*stream_create)(kiln_cu_stream *stream, unsigned flags);
    kiln_cu_result (*stream_destroy)(kiln_cu_stream stream);
    kiln_cu_result (*stream_synchronize)(kiln_cu_stream stream);
    kiln_cu_result (*stream_is_capturing)(kiln_cu_stream stream, int *status);
    kiln_cu_result (*exchange_capture_mode)(int *mode);

    /* cuMem..., cuLaunchKernelEx */
    kiln_cu_result (*mem_alloc)(kiln_cu_pointer *memory, size_t bytes);
    kiln_cu_result (*mem_free)(kiln_cu_pointer memory);
    kiln_cu_result (*mem_alloc_async)(kiln_cu_pointer *memory, size_t bytes,
                                      kiln_cu_stream stream);
    kiln_cu_result (*mem_free_async)(kiln_cu_pointer memory,
                                     kiln_cu_stream stream);
    kiln_cu_result (*memset_d8_async)(kiln_cu_pointer memory,
                                      unsigned char value, size_t bytes,
                                      kiln_cu_stream stream);
    kiln_cu_result (*memcpy_dtoh_async)(void *host, kiln_cu_pointer memory,
                                        size_t bytes, kiln_cu_stream stream);
    kiln_cu_result (*launch_kernel_ex)(const kiln_cu_launch_config *config,
                                       kiln_cu_function function, void **params,
                                       void **extra);

    /* cuFuncLoad (CUDA 12.4): NULL where the driver has none. */
    kiln_cu_result (*func_load)(kiln_cu_function function);

    /* cuMemcpy..., cuGraph..., cuEvent...: for tests, the runtime has no use
     * for them. */
    kiln_cu_result (*memcpy_htod_async)(kiln_cu_pointer memory,
                                        const void *host, size_t bytes,
                                        kiln_cu_stream stream);
    kiln_cu_result (*memcpy_dtod_async)(kiln_cu_pointer to,
                                        kiln_cu_pointer from, size_t bytes,
                                        kiln_cu_stream stream);
    kiln_cu_result (*stream_begin_capture)(kiln_cu_stream stream, int mode);
    kiln_cu_result (*stream_end_capture)(kiln_cu_stream stream,
                                         kiln_cu_graph *graph);
    kiln_cu_result (*graph_instantiate)(kiln_cu_exec *exec, kiln_cu_graph graph,
                                        unsigned long long flags);
    kiln_cu_result (*graph_launch)(kiln_cu_exec exec, kiln_cu_stream stream);
    kiln_cu_result (*graph_destroy)(kiln_cu_graph graph);
    kiln_cu_result (*graph_exec_destroy)(kiln_cu_exec exec);
    kiln_cu_result (*event_create)(kiln_cu_event *event, unsigned flags);
    kiln_cu_result (*event_record)(kiln_cu_event event, kiln_cu_stream stream);
    kiln_cu_result (*event_elapsed_time)(float *ms, kiln_cu_event start,
                                         kiln_cu_event end);
    kiln_cu_result (*event_destroy)(kiln_cu_event event);
} kiln_cuda_driver;

/* Fills driver from libcuda.so.1. KILN_DEVICE_ERROR with a text that says what
 * is missing: the library or a function. The library stays loaded. */
kiln_status kiln_cuda_driver_open(kiln_cuda_driver *driver, kiln_error *err);

#endif /* KILN_CUDA_DRIVER_H */
