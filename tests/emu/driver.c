/* Devices, contexts, and errors of the emulated driver. */
#include "driver_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Figures of the chips: NVIDIA's data sheets; shared memory: CUDA C++
 * Programming Guide, "Technical Specifications per Compute Capability". */
const emu_device emu_device_h200 = {"NVIDIA H200", 90, 132, 232448, 62914560};
const emu_device emu_device_a100 = {"NVIDIA A100-SXM4-40GB", 80, 108, 166912,
                                    41943040};
const emu_device emu_device_t4 = {"Tesla T4", 75, 40, 65536, 4194304};

emu_cuda emu_cu = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local emu_context *stack[EMU_CONTEXT_DEPTH];
static _Thread_local int depth;

/* --- entries ---------------------------------------------------------------
 */

kiln_cu_result emu_cu_enter(emu_context **context)
{
    pthread_mutex_lock(&emu_cu.lock);
    *context = depth ? stack[depth - 1] : NULL;
    if (!emu_cu.started) {
        return KILN_CU_NOT_INITIALIZED;
    }
    if (!*context || (*context)->retains == 0) {
        return KILN_CU_INVALID_CONTEXT;
    }
    return (*context)->sticky;
}

kiln_cu_result emu_cu_leave(kiln_cu_result result)
{
    pthread_mutex_unlock(&emu_cu.lock);
    return result;
}

kiln_cu_result emu_cu_stick(emu_context *context, kiln_cu_result result)
{
    context->sticky = result;
    fprintf(stderr, "kiln-emu: %s\n", emu_cu.text);
    return result;
}

static kiln_cu_result init(unsigned flags)
{
    pthread_mutex_lock(&emu_cu.lock);
    emu_cu.started = true;
    return emu_cu_leave(flags ? KILN_CU_INVALID_VALUE : KILN_CU_SUCCESS);
}

static kiln_cu_result driver_get_version(int *version)
{
    *version = 13000;
    return KILN_CU_SUCCESS;
}

/* --- errors ----------------------------------------------------------------
 */

static const struct {
    int code;
    const char *name;
    const char *text;
} errors[] = {
    {KILN_CU_SUCCESS, "CUDA_SUCCESS", "no error"},
    {KILN_CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {KILN_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {KILN_CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED",
     "initialization error"},
    {KILN_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE",
     "no CUDA-capable device is detected"},
    {KILN_CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE",
     "invalid device ordinal"},
    {KILN_CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {KILN_CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT",
     "invalid device context"},
    {KILN_CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {KILN_CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {KILN_CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {KILN_CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
     "unspecified launch failure"},
    {KILN_CU_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {KILN_CU_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {KILN_CU_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking "
     "stream"},
};

static size_t find_error(kiln_cu_result code)
{
    size_t i = 0;
    while (i < sizeof errors / sizeof errors[0] && errors[i].code != code) {
        i++;
    }
    return i;
}

static kiln_cu_result get_error_name(kiln_cu_result code, const char **name)
{
    const size_t i = find_error(code);
    const bool known = i < sizeof errors / sizeof errors[0];
    *name = known ? errors[i].name : NULL;
    return known ? KILN_CU_SUCCESS : KILN_CU_INVALID_VALUE;
}

/* A failed kernel's text says what the engine found. */
static kiln_cu_result get_error_string(kiln_cu_result code, const char **text)
{
    const size_t i = find_error(code);
    const bool known = i < sizeof errors / sizeof errors[0];
    const bool failed =
        code == KILN_CU_LAUNCH_FAILED || code == KILN_CU_ILLEGAL_ADDRESS;
    *text = known ? errors[i].text : NULL;
    if (failed && emu_cu.text[0]) {
        *text = emu_cu.text;
    }
    return known ? KILN_CU_SUCCESS : KILN_CU_INVALID_VALUE;
}

/* --- devices ---------------------------------------------------------------
 */

static kiln_cu_result check_device(kiln_cu_device device)
{
    if (!emu_cu.started) {
        return KILN_CU_NOT_INITIALIZED;
    }
    return device >= 0 && device < emu_cu.n_devices ? KILN_CU_SUCCESS
                                                    : KILN_CU_INVALID_DEVICE;
}

static kiln_cu_result device_get_count(int *count)
{
    *count = emu_cu.n_devices;
    return emu_cu.started ? KILN_CU_SUCCESS : KILN_CU_NOT_INITIALIZED;
}

static kiln_cu_result device_get(kiln_cu_device *device, int ordinal)
{
    *device = ordinal;
    return check_device(ordinal);
}

static kiln_cu_result device_get_name(char *name, int cap,
                                      kiln_cu_device device)
{
    const kiln_cu_result result = check_device(device);
    if (result == KILN_CU_SUCCESS) {
        (void)snprintf(name, (size_t)cap, "%s",
                       emu_cu.contexts[device].device->name);
    }
    return result;
}

static kiln_cu_result device_get_attribute(int *value, int attribute,
                                           kiln_cu_device device)
{
    const kiln_cu_result result = check_device(device);
    if (result != KILN_CU_SUCCESS) {
        return result;
    }
    const emu_device *facts = emu_cu.contexts[device].device;
    switch (attribute) {
    case KILN_CU_DEVICE_MULTIPROCESSOR_COUNT:
        *value = facts->multiprocessors;
        break;
    case KILN_CU_DEVICE_L2_CACHE_SIZE:
        *value = facts->l2_bytes;
        break;
    case KILN_CU_DEVICE_CAPABILITY_MAJOR:
        *value = facts->capability / 10;
        break;
    case KILN_CU_DEVICE_CAPABILITY_MINOR:
        *value = facts->capability % 10;
        break;
    case KILN_CU_DEVICE_SHARED_OPTIN:
        *value = facts->shared_optin;
        break;
    case KILN_CU_DEVICE_MEMORY_POOLS:
        *value = 1;
        break;
    default:
        return KILN_CU_INVALID_VALUE;
    }
    return KILN_CU_SUCCESS;
}

/* --- contexts --------------------------------------------------------------
 */

static kiln_cu_result primary_ctx_retain(kiln_cu_context *context,
                                         kiln_cu_device device)
{
    pthread_mutex_lock(&emu_cu.lock);
    const kiln_cu_result result = check_device(device);
    if (result == KILN_CU_SUCCESS) {
        emu_cu.contexts[device].retains++;
        emu_cu.held.contexts++;
        *context = &emu_cu.contexts[device];
    }
    return emu_cu_leave(result);
}

static kiln_cu_result primary_ctx_release(kiln_cu_device device)
{
    pthread_mutex_lock(&emu_cu.lock);
    kiln_cu_result result = check_device(device);
    if (result == KILN_CU_SUCCESS && emu_cu.contexts[device].retains == 0) {
        result = KILN_CU_INVALID_CONTEXT;
    }
    if (result == KILN_CU_SUCCESS) {
        emu_cu.contexts[device].retains--;
        emu_cu.held.contexts--;
    }
    return emu_cu_leave(result);
}

static kiln_cu_result ctx_get_current(kiln_cu_context *context)
{
    *context = depth ? stack[depth - 1] : NULL;
    return emu_cu.started ? KILN_CU_SUCCESS : KILN_CU_NOT_INITIALIZED;
}

static kiln_cu_result ctx_push_current(kiln_cu_context context)
{
    if (!context || depth == EMU_CONTEXT_DEPTH) {
        return KILN_CU_INVALID_CONTEXT;
    }
    stack[depth++] = context;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result ctx_pop_current(kiln_cu_context *context)
{
    if (depth == 0) {
        return KILN_CU_INVALID_CONTEXT;
    }
    depth--;
    if (context) {
        *context = stack[depth];
    }
    return KILN_CU_SUCCESS;
}

static kiln_cu_result ctx_synchronize(void)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS) {
        result = emu_cu_forbid();
    }
    return emu_cu_leave(result);
}

/* --- the driver ------------------------------------------------------------
 */

void emu_driver_open(kiln_cuda_driver *driver, const emu_device *const *devices,
                     int n_devices)
{
    assert(n_devices >= 0 && n_devices <= EMU_DEVICES);
    pthread_mutex_lock(&emu_cu.lock);
    emu_cu_drop_memory();
    emu_cu_drop_streams();
    emu_cu.started = false;
    emu_cu.n_devices = n_devices;
    for (int i = 0; i < n_devices; i++) {
        emu_cu.contexts[i] = (emu_context){.device = devices[i]};
    }
    emu_cu.block_order = EMU_FORWARD;
    emu_cu.thread_order = EMU_FORWARD;
    emu_cu.held = (emu_held){0};
    emu_cu.text[0] = '\0';
    *driver = (kiln_cuda_driver){.init = init,
                                 .driver_get_version = driver_get_version,
                                 .get_error_name = get_error_name,
                                 .get_error_string = get_error_string,
                                 .device_get_count = device_get_count,
                                 .device_get = device_get,
                                 .device_get_name = device_get_name,
                                 .device_get_attribute = device_get_attribute,
                                 .primary_ctx_retain = primary_ctx_retain,
                                 .primary_ctx_release = primary_ctx_release,
                                 .ctx_get_current = ctx_get_current,
                                 .ctx_push_current = ctx_push_current,
                                 .ctx_pop_current = ctx_pop_current,
                                 .ctx_synchronize = ctx_synchronize};
    emu_cu_fill_memory(driver);
    emu_cu_fill_launch(driver);
    emu_cu_fill_stream(driver);
    pthread_mutex_unlock(&emu_cu.lock);
}

void emu_driver_order(emu_order blocks, emu_order threads)
{
    pthread_mutex_lock(&emu_cu.lock);
    emu_cu.block_order = blocks;
    emu_cu.thread_order = threads;
    pthread_mutex_unlock(&emu_cu.lock);
}

const char *emu_driver_text(void)
{
    return emu_cu.text;
}

emu_held emu_driver_held(void)
{
    pthread_mutex_lock(&emu_cu.lock);
    const emu_held held = emu_cu.held;
    pthread_mutex_unlock(&emu_cu.lock);
    return held;
}
