/* sources: runtime/core/error.c */
/* The declarations of runtime/cuda/driver.h against those of <cuda.h>, and the
 * opening of the driver on a machine with and without one. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#elif __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#endif

/* The loader, played: a library that has every function but `removed`. */
static int has_library;
static const char *removed;
static char a_library;
static int n_opened;

static void *open_library(const char *name, int mode)
{
    assert_string_equal(name, "libcuda.so.1");
    assert_int_equal(mode & RTLD_GLOBAL, 0);
    n_opened += has_library;
    return has_library ? &a_library : NULL;
}

static int close_library(void *given)
{
    assert_ptr_equal(given, &a_library);
    n_opened--;
    return 0;
}

static char *library_error(void)
{
    static char text[] = "libcuda.so.1: cannot open shared object file";

    return text;
}

static int version_11_4(int *version)
{
    *version = 11040;
    return 0;
}

static void *find_symbol(void *given, const char *name)
{
    int (*function)(int *version) = version_11_4;
    void *address;

    assert_ptr_equal(given, &a_library);
    memcpy(&address, &function, sizeof address);
    return removed != NULL && strcmp(name, removed) == 0 ? NULL : address;
}

#define dlopen open_library
#define dlclose close_library
#define dlerror library_error
#define dlsym find_symbol
#include "cuda/driver.c"

/* --- opening -------------------------------------------------------------- */

static void test_no_library(void **state)
{
    kiln_cuda_driver driver;
    kiln_error err;

    (void)state;
    has_library = 0;
    assert_int_equal(kiln_cuda_driver_open(&driver, &err), KILN_DEVICE_ERROR);
    assert_string_equal(
        err.text,
        "no CUDA driver (libcuda.so.1): libcuda.so.1: cannot open shared "
        "object file; install the NVIDIA driver");
}

static void test_missing_functions(void **state)
{
    kiln_cuda_driver driver;
    kiln_error err;
    char text[200];

    (void)state;
    has_library = 1;
    for (int i = 0; i < N_NAMES; i++) {
        removed = names[i];
        if (i >= N_NEEDED) {
            assert_int_equal(kiln_cuda_driver_open(&driver, &err), KILN_OK);
            continue;
        }
        assert_int_equal(kiln_cuda_driver_open(&driver, &err),
                         KILN_DEVICE_ERROR);
        (void)snprintf(text, sizeof text,
                       "the CUDA driver, of CUDA %s, has no %s: install a "
                       "driver of CUDA 12.0 or later",
                       i == 1 ? "0.0" : "11.4", names[i]);
        assert_string_equal(err.text, text);
    }
    removed = NULL;
    assert_int_equal(kiln_cuda_driver_open(&driver, &err), KILN_OK);
    assert_non_null(driver.func_load);
    assert_int_equal(n_opened, 0);
}

/* --- against <cuda.h> ----------------------------------------------------- */

#ifdef CUDA_VERSION

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define SAME(ours, theirs) assert_int_equal(ours, theirs)
#define SAME_FIELD(ours, a, theirs, b)                                         \
    do {                                                                       \
        SAME(offsetof(ours, a), offsetof(theirs, b));                          \
        SAME(sizeof(((ours *)0)->a), sizeof(((theirs *)0)->b));                \
    } while (0)

static void test_types(void **state)
{
    (void)state;
    SAME(sizeof(kiln_cu_result), sizeof(CUresult));
    SAME(sizeof(kiln_cu_device), sizeof(CUdevice));
    SAME(sizeof(kiln_cu_pointer), sizeof(CUdeviceptr));
    SAME(sizeof(kiln_cu_context), sizeof(CUcontext));
    SAME(sizeof(kiln_cu_module), sizeof(CUmodule));
    SAME(sizeof(kiln_cu_function), sizeof(CUfunction));
    SAME(sizeof(kiln_cu_stream), sizeof(CUstream));
    SAME(sizeof(int), sizeof(CUstreamCaptureStatus));
    SAME(sizeof(int), sizeof(CUstreamCaptureMode));
}

static void test_results(void **state)
{
    (void)state;
    SAME(KILN_CU_SUCCESS, CUDA_SUCCESS);
    SAME(KILN_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
    SAME(KILN_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    SAME(KILN_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
    SAME(KILN_CU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
    SAME(KILN_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
    SAME(KILN_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
    SAME(KILN_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
    SAME(KILN_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
    SAME(KILN_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
    SAME(KILN_CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
    SAME(KILN_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
    SAME(KILN_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
    SAME(KILN_CU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    SAME(KILN_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
    SAME(KILN_CU_ASSERT, CUDA_ERROR_ASSERT);
    SAME(KILN_CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR);
    SAME(KILN_CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION);
    SAME(KILN_CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS);
    SAME(KILN_CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE);
    SAME(KILN_CU_INVALID_PC, CUDA_ERROR_INVALID_PC);
    SAME(KILN_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
    SAME(KILN_CU_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    SAME(KILN_CU_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    SAME(KILN_CU_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

static void test_attributes(void **state)
{
    (void)state;
    SAME(KILN_CU_DEVICE_MULTIPROCESSOR_COUNT,
         CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    SAME(KILN_CU_DEVICE_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    SAME(KILN_CU_DEVICE_CAPABILITY_MAJOR,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    SAME(KILN_CU_DEVICE_CAPABILITY_MINOR,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    SAME(KILN_CU_DEVICE_SHARED_OPTIN,
         CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    SAME(KILN_CU_DEVICE_MEMORY_POOLS,
         CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    SAME(KILN_CU_FUNC_MAX_DYNAMIC_SHARED,
         CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    SAME(KILN_CU_FUNC_NON_PORTABLE_CLUSTER,
         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    SAME(KILN_CU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
}

static void test_streams(void **state)
{
    (void)state;
    SAME(KILN_CU_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
    SAME(KILN_CU_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    SAME(KILN_CU_CAPTURE_BROKEN, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    SAME(KILN_CU_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
    SAME(KILN_CU_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    SAME(KILN_CU_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
    SAME(KILN_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
    SAME(KILN_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
    SAME(sizeof(kiln_cu_event), sizeof(CUevent));
    SAME(sizeof(kiln_cu_graph), sizeof(CUgraph));
    SAME(sizeof(kiln_cu_exec), sizeof(CUgraphExec));
    assert_ptr_equal(KILN_CU_PARAM_END, CU_LAUNCH_PARAM_END);
    assert_ptr_equal(KILN_CU_PARAM_BUFFER, CU_LAUNCH_PARAM_BUFFER_POINTER);
    assert_ptr_equal(KILN_CU_PARAM_SIZE, CU_LAUNCH_PARAM_BUFFER_SIZE);
}

static void test_layouts(void **state)
{
    (void)state;
    SAME(sizeof(kiln_cu_launch_attribute), sizeof(CUlaunchAttribute));
    SAME(_Alignof(kiln_cu_launch_attribute), _Alignof(CUlaunchAttribute));
    SAME_FIELD(kiln_cu_launch_attribute, id, CUlaunchAttribute, id);
    SAME_FIELD(kiln_cu_launch_attribute, value, CUlaunchAttribute, value);
    SAME_FIELD(kiln_cu_launch_attribute, value.cluster.x, CUlaunchAttribute,
               value.clusterDim.x);
    SAME_FIELD(kiln_cu_launch_attribute, value.cluster.y, CUlaunchAttribute,
               value.clusterDim.y);
    SAME_FIELD(kiln_cu_launch_attribute, value.cluster.z, CUlaunchAttribute,
               value.clusterDim.z);
    SAME(sizeof(kiln_cu_launch_config), sizeof(CUlaunchConfig));
    SAME_FIELD(kiln_cu_launch_config, grid_x, CUlaunchConfig, gridDimX);
    SAME_FIELD(kiln_cu_launch_config, grid_y, CUlaunchConfig, gridDimY);
    SAME_FIELD(kiln_cu_launch_config, grid_z, CUlaunchConfig, gridDimZ);
    SAME_FIELD(kiln_cu_launch_config, block_x, CUlaunchConfig, blockDimX);
    SAME_FIELD(kiln_cu_launch_config, block_y, CUlaunchConfig, blockDimY);
    SAME_FIELD(kiln_cu_launch_config, block_z, CUlaunchConfig, blockDimZ);
    SAME_FIELD(kiln_cu_launch_config, shared_bytes, CUlaunchConfig,
               sharedMemBytes);
    SAME_FIELD(kiln_cu_launch_config, stream, CUlaunchConfig, hStream);
    SAME_FIELD(kiln_cu_launch_config, attributes, CUlaunchConfig, attrs);
    SAME_FIELD(kiln_cu_launch_config, n_attributes, CUlaunchConfig, numAttrs);
}

/* <cuda.h> renames each function to the form that it declares. */
#define NAMED(member, name)                                                    \
    do {                                                                       \
        size_t at =                                                            \
            offsetof(kiln_cuda_driver, member) / sizeof(any_function *);       \
        assert_string_equal(names[at], TEXT(name));                            \
        n++;                                                                   \
    } while (0)

static void test_names(void **state)
{
    int n = 0;

    (void)state;
    NAMED(init, cuInit);
    NAMED(driver_get_version, cuDriverGetVersion);
    NAMED(get_error_name, cuGetErrorName);
    NAMED(get_error_string, cuGetErrorString);
    NAMED(device_get_count, cuDeviceGetCount);
    NAMED(device_get, cuDeviceGet);
    NAMED(device_get_name, cuDeviceGetName);
    NAMED(device_get_attribute, cuDeviceGetAttribute);
    NAMED(primary_ctx_retain, cuDevicePrimaryCtxRetain);
    NAMED(primary_ctx_release, cuDevicePrimaryCtxRelease);
    NAMED(ctx_get_current, cuCtxGetCurrent);
    NAMED(ctx_push_current, cuCtxPushCurrent);
    NAMED(ctx_pop_current, cuCtxPopCurrent);
    NAMED(ctx_synchronize, cuCtxSynchronize);
    NAMED(module_load_data, cuModuleLoadData);
    NAMED(module_unload, cuModuleUnload);
    NAMED(module_get_function, cuModuleGetFunction);
    NAMED(func_set_attribute, cuFuncSetAttribute);
    NAMED(stream_create, cuStreamCreate);
    NAMED(stream_destroy, cuStreamDestroy);
    NAMED(stream_synchronize, cuStreamSynchronize);
    NAMED(stream_is_capturing, cuStreamIsCapturing);
    NAMED(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
    NAMED(mem_alloc, cuMemAlloc);
    NAMED(mem_free, cuMemFree);
    NAMED(mem_alloc_async, cuMemAllocAsync);
    NAMED(mem_free_async, cuMemFreeAsync);
    NAMED(memset_d8_async, cuMemsetD8Async);
    NAMED(memcpy_dtoh_async, cuMemcpyDtoHAsync);
    NAMED(launch_kernel_ex, cuLaunchKernelEx);
    assert_int_equal(n, N_NEEDED);
    NAMED(func_load, cuFuncLoad);
    NAMED(memcpy_htod_async, cuMemcpyHtoDAsync);
    NAMED(memcpy_dtod_async, cuMemcpyDtoDAsync);
    NAMED(stream_begin_capture, cuStreamBeginCapture);
    NAMED(stream_end_capture, cuStreamEndCapture);
    NAMED(graph_instantiate, cuGraphInstantiate);
    NAMED(graph_launch, cuGraphLaunch);
    NAMED(graph_destroy, cuGraphDestroy);
    NAMED(graph_exec_destroy, cuGraphExecDestroy);
    NAMED(event_create, cuEventCreate);
    NAMED(event_record, cuEventRecord);
#undef cuEventElapsedTime /* its later form is younger than 12.0 */
    NAMED(event_elapsed_time, cuEventElapsedTime);
    NAMED(event_destroy, cuEventDestroy);
    assert_int_equal(n, N_NAMES);
}

#else /* no toolkit: its absence fails where all must be tested */

static void test_header(void **state)
{
    (void)state;
    if (getenv("CI") != NULL) {
        fail_msg("no <cuda.h>: install a CUDA toolkit");
    }
    print_message("no <cuda.h>: driver.h is not compared with it\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_missing_functions),
#ifdef CUDA_VERSION
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_names),
#else
        cmocka_unit_test(test_header),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
