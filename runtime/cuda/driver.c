#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

/* The name that carries each function's present form: where an early form
 * differed, the driver exports the later one with a version, as <cuda.h>
 * renames it. ORDER: struct kiln_cuda_driver. */
static const char *const names[] = {
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxSynchronize",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuMemcpyDtoHAsync_v2",
    "cuLaunchKernelEx",
    "cuFuncLoad",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
};

enum {
    N_NAMES = sizeof names / sizeof *names,
    N_NEEDED = offsetof(kiln_cuda_driver, func_load) / sizeof(void (*)(void))
};

typedef void any_function(void);

_Static_assert(sizeof(kiln_cuda_driver) == N_NAMES * sizeof(any_function *),
               "a name for each member");

/* POSIX lets a function's address be held in a void *, ISO C does not. */
static void fill(kiln_cuda_driver *driver, void *library)
{
    char *member = (char *)driver;

    for (int i = 0; i < N_NAMES; i++, member += sizeof(any_function *)) {
        void *function = dlsym(library, names[i]);

        memcpy(member, &function, sizeof function);
    }
}

/* The first needed function that is NULL; NULL: none is. */
static const char *find_missing(const kiln_cuda_driver *driver)
{
    const char *member = (const char *)driver;

    for (int i = 0; i < N_NEEDED; i++, member += sizeof(any_function *)) {
        static void *const none = NULL;

        if (memcmp(member, &none, sizeof none) == 0) {
            return names[i];
        }
    }
    return NULL;
}

static kiln_status fail_missing(const kiln_cuda_driver *driver,
                                const char *name, kiln_error *err)
{
    int version = 0;

    if (driver->driver_get_version != NULL) {
        (void)driver->driver_get_version(&version);
    }
    return kiln_fail(err, KILN_DEVICE_ERROR,
                     "the CUDA driver, of CUDA %d.%d, has no %s: install a "
                     "driver of CUDA 12.0 or later",
                     version / 1000, version % 1000 / 10, name);
}

/* RTLD_NODELETE: the driver starts threads and is not made to go. */
kiln_status kiln_cuda_driver_open(kiln_cuda_driver *driver, kiln_error *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *missing;

    memset(driver, 0, sizeof *driver);
    if (library == NULL) {
        const char *why = dlerror();

        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "no CUDA driver (" LIBRARY "): %s; install the "
                         "NVIDIA driver",
                         why != NULL ? why : "not found");
    }
    fill(driver, library);
    (void)dlclose(library);
    missing = find_missing(driver);
    return missing == NULL ? KILN_OK : fail_missing(driver, missing, err);
}
