#include <stdarg.h>
#include <stdio.h>

#include "state.h"

/* Errors after which the driver gives the same answer to every further call:
 * "this leaves the process in an inconsistent state" (CUDA Driver API
 * Reference, CUresult). */
static bool is_sticky(kiln_cu_result result)
{
    switch (result) {
    case KILN_CU_ILLEGAL_ADDRESS:
    case KILN_CU_LAUNCH_TIMEOUT:
    case KILN_CU_ASSERT:
    case KILN_CU_HARDWARE_STACK_ERROR:
    case KILN_CU_ILLEGAL_INSTRUCTION:
    case KILN_CU_MISALIGNED_ADDRESS:
    case KILN_CU_INVALID_ADDRESS_SPACE:
    case KILN_CU_INVALID_PC:
    case KILN_CU_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

kiln_status kiln_cuda_fail(const kiln_cuda_driver *driver,
                           kiln_cu_result result, kiln_error *err,
                           const char *format, ...)
{
    const kiln_status status = result == KILN_CU_OUT_OF_MEMORY
                                   ? KILN_OUT_OF_MEMORY
                                   : KILN_DEVICE_ERROR;
    const char *name = NULL;
    const char *text = NULL;
    char what[256];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (driver->get_error_name(result, &name) != KILN_CU_SUCCESS ||
        driver->get_error_string(result, &text) != KILN_CU_SUCCESS) {
        name = NULL;
    }
    if (name == NULL || text == NULL) {
        return kiln_fail(err, status, "%s: error %d of the CUDA driver", what,
                         result);
    }
    kiln_fail(err, status, "%s: %s (%s)", what, text, name);
    if (is_sticky(result)) {
        kiln_fail_more(err, "; earlier work on the device failed, and the "
                            "driver takes no more from this process");
    }
    return status;
}

kiln_status kiln_cuda_enter(const kiln_cuda *cuda, kiln_cuda_scope *scope,
                            kiln_error *err)
{
    kiln_cu_context current = NULL;
    kiln_cu_result result;

    *scope = (kiln_cuda_scope){false, false, 0};
    result = cuda->driver.ctx_get_current(&current);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err, "cuCtxGetCurrent");
    }
    if (current == cuda->context) {
        return KILN_OK;
    }
    result = cuda->driver.ctx_push_current(cuda->context);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err, "cuCtxPushCurrent");
    }
    scope->pushed = true;
    return KILN_OK;
}

kiln_status kiln_cuda_enter_apart(const kiln_cuda *cuda, kiln_cuda_scope *scope,
                                  kiln_error *err)
{
    kiln_status status = kiln_cuda_enter(cuda, scope, err);
    kiln_cu_result result;

    if (status != KILN_OK) {
        return status;
    }
    scope->mode = KILN_CU_MODE_RELAXED;
    result = cuda->driver.exchange_capture_mode(&scope->mode);
    if (result != KILN_CU_SUCCESS) {
        kiln_cuda_leave(cuda, scope);
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "cuThreadExchangeStreamCaptureMode");
    }
    scope->relaxed = true;
    return KILN_OK;
}

/* What fails here has failed before, and was reported. */
void kiln_cuda_leave(const kiln_cuda *cuda, const kiln_cuda_scope *scope)
{
    kiln_cu_context popped;
    int mode = scope->mode;

    if (scope->relaxed) {
        (void)cuda->driver.exchange_capture_mode(&mode);
    }
    if (scope->pushed) {
        (void)cuda->driver.ctx_pop_current(&popped);
    }
}
