#include <string.h>

#include "state.h"

/* --- facts ---------------------------------------------------------------- */

static kiln_status read_attribute(const kiln_cuda *cuda, int attribute,
                                  int *value, kiln_error *err)
{
    kiln_cu_result result =
        cuda->driver.device_get_attribute(value, attribute, cuda->device);

    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "cuDeviceGetAttribute(%d)", attribute);
    }
    return KILN_OK;
}

static kiln_status read_facts(kiln_cuda *cuda, kiln_error *err)
{
    static const int attributes[] = {
        KILN_CU_DEVICE_CAPABILITY_MAJOR,     KILN_CU_DEVICE_CAPABILITY_MINOR,
        KILN_CU_DEVICE_MULTIPROCESSOR_COUNT, KILN_CU_DEVICE_SHARED_OPTIN,
        KILN_CU_DEVICE_L2_CACHE_SIZE,
    };
    enum { N = sizeof attributes / sizeof *attributes };
    kiln_cuda_facts *facts = &cuda->facts;
    int values[N] = {0};
    kiln_cu_result result = cuda->driver.device_get_name(
        facts->name, (int)sizeof facts->name, cuda->device);

    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err, "cuDeviceGetName");
    }
    for (int i = 0; i < N; i++) {
        if (read_attribute(cuda, attributes[i], &values[i], err) != KILN_OK) {
            return err->status;
        }
    }
    facts->capability = values[0] * 10 + values[1];
    facts->multiprocessors = values[2];
    facts->shared_bytes = values[3];
    facts->l2_bytes = values[4];
    return KILN_OK;
}

/* --- opening -------------------------------------------------------------- */

static kiln_status find_device(kiln_cuda *cuda, int id, kiln_error *err)
{
    const kiln_cuda_driver *driver = &cuda->driver;
    const char *function = "cuInit";
    kiln_cu_result result = driver->init(0);
    int count = 0;

    if (result == KILN_CU_SUCCESS) {
        function = "cuDeviceGetCount";
        result = driver->device_get_count(&count);
    }
    if (result == KILN_CU_SUCCESS && (id < 0 || id >= count)) {
        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "cuda device %d does not exist; the driver shows %d",
                         id, count);
    }
    if (result == KILN_CU_SUCCESS) {
        function = "cuDeviceGet";
        result = driver->device_get(&cuda->device, id);
    }
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(driver, result, err, "cuda device %d: %s", id,
                              function);
    }
    return KILN_OK;
}

static kiln_status retain_context(kiln_cuda *cuda, kiln_error *err)
{
    kiln_cu_context context = NULL;
    kiln_cu_result result =
        cuda->driver.primary_ctx_retain(&context, cuda->device);

    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "%s: cuDevicePrimaryCtxRetain", cuda->facts.name);
    }
    cuda->context = context;
    return KILN_OK;
}

/* Sets the fault word to none; returns when it is. */
static kiln_cu_result clear_fault(const kiln_cuda *cuda, const char **function)
{
    kiln_cu_result result;

    *function = "cuMemsetD8Async";
    result = cuda->driver.memset_d8_async(cuda->fault, 0xff, sizeof(uint64_t),
                                          cuda->stream);
    if (result == KILN_CU_SUCCESS) {
        *function = "cuStreamSynchronize";
        result = cuda->driver.stream_synchronize(cuda->stream);
    }
    return result;
}

/* A stream of its own, so that the legacy default stream, which waits for
 * others and breaks their captures, is never used. */
static kiln_status make_fault(kiln_cuda *cuda, kiln_error *err)
{
    const kiln_cuda_driver *driver = &cuda->driver;
    const char *function = "cuMemAlloc";
    kiln_cuda_scope scope;
    kiln_cu_result result;

    if (kiln_cuda_enter_apart(cuda, &scope, err) != KILN_OK) {
        return err->status;
    }
    result = driver->mem_alloc(&cuda->fault, sizeof(uint64_t));
    if (result == KILN_CU_SUCCESS) {
        function = "cuStreamCreate";
        result =
            driver->stream_create(&cuda->stream, KILN_CU_STREAM_NON_BLOCKING);
    }
    if (result == KILN_CU_SUCCESS) {
        result = clear_fault(cuda, &function);
    }
    kiln_cuda_leave(cuda, &scope);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(driver, result, err, "%s: fault word: %s",
                              cuda->facts.name, function);
    }
    return KILN_OK;
}

static kiln_status make_lock(kiln_cuda *cuda, kiln_error *err)
{
    cuda->locked = pthread_mutex_init(&cuda->lock, NULL) == 0;
    return cuda->locked ? KILN_OK
                        : kiln_fail(err, KILN_OUT_OF_MEMORY,
                                    "the system refused a lock");
}

static kiln_cuda *make_cuda(const kiln_allocator *allocator)
{
    kiln_arena arena;
    kiln_cuda *cuda;

    kiln_arena_init(&arena, allocator);
    cuda = kiln_arena_alloc(&arena, sizeof *cuda);
    if (cuda == NULL) {
        kiln_arena_free(&arena);
        return NULL;
    }
    memset(cuda, 0, sizeof *cuda);
    cuda->arena = arena;
    return cuda;
}

kiln_status kiln_cuda_open(kiln_cuda **out, const kiln_cuda_driver *driver,
                           int device_id, const kiln_allocator *allocator,
                           kiln_error *err)
{
    kiln_cuda *cuda = make_cuda(allocator);
    kiln_status status = KILN_OK;

    *out = NULL;
    if (cuda == NULL) {
        return kiln_fail(err, KILN_OUT_OF_MEMORY,
                         "cuda device %d: allocation of %zu bytes was refused",
                         device_id, sizeof *cuda);
    }
    if (driver != NULL) {
        cuda->driver = *driver;
    } else {
        status = kiln_cuda_driver_open(&cuda->driver, err);
    }
    if (status != KILN_OK ||
        (status = find_device(cuda, device_id, err)) != KILN_OK ||
        (status = read_facts(cuda, err)) != KILN_OK ||
        (status = make_lock(cuda, err)) != KILN_OK ||
        (status = retain_context(cuda, err)) != KILN_OK ||
        (status = make_fault(cuda, err)) != KILN_OK) {
        kiln_cuda_close(cuda, false);
        return status;
    }
    *out = cuda;
    return KILN_OK;
}

/* --- closing -------------------------------------------------------------- */

/* In a context that failed nothing can be freed, and the driver takes it all
 * back with the process. */
static void free_device(kiln_cuda *cuda)
{
    const kiln_cuda_driver *driver = &cuda->driver;
    kiln_cuda_scope scope;
    kiln_error ignored;

    if (kiln_cuda_enter_apart(cuda, &scope, &ignored) == KILN_OK) {
        for (kiln_cuda_module *m = cuda->modules; m != NULL; m = m->next) {
            (void)driver->module_unload(m->module);
        }
        if (cuda->stream != NULL) {
            (void)driver->stream_destroy(cuda->stream);
        }
        if (cuda->fault != 0) {
            (void)driver->mem_free(cuda->fault);
        }
        kiln_cuda_leave(cuda, &scope);
    }
    (void)driver->primary_ctx_release(cuda->device);
}

void kiln_cuda_close(kiln_cuda *cuda, bool forked)
{
    kiln_arena arena;

    if (cuda == NULL) {
        return;
    }
    if (cuda->context != NULL && !forked) {
        free_device(cuda);
    }
    if (cuda->locked && !forked) {
        pthread_mutex_destroy(&cuda->lock);
    }
    arena = cuda->arena;
    kiln_arena_free(&arena);
}

/* --- what others ask ------------------------------------------------------ */

const kiln_cuda_facts *kiln_cuda_get_facts(const kiln_cuda *cuda)
{
    return &cuda->facts;
}

uint64_t kiln_cuda_fault_address(const kiln_cuda *cuda)
{
    return cuda->fault;
}

/* The word is set anew only when it holds something: else a fault that comes
 * in between could be lost. */
static kiln_cu_result take_fault(const kiln_cuda *cuda, uint64_t *word,
                                 const char **function)
{
    const kiln_cuda_driver *driver = &cuda->driver;
    kiln_cu_result result;

    *function = "cuCtxSynchronize";
    result = driver->ctx_synchronize();
    if (result == KILN_CU_SUCCESS) {
        *function = "cuMemcpyDtoHAsync";
        result = driver->memcpy_dtoh_async(word, cuda->fault, sizeof *word,
                                           cuda->stream);
    }
    if (result == KILN_CU_SUCCESS) {
        *function = "cuStreamSynchronize";
        result = driver->stream_synchronize(cuda->stream);
    }
    if (result == KILN_CU_SUCCESS && *word != KILN_FAULT_NONE) {
        result = clear_fault(cuda, function);
    }
    return result;
}

kiln_status kiln_cuda_read_fault(kiln_cuda *cuda, uint64_t *word,
                                 kiln_error *err)
{
    const char *function = "";
    kiln_cuda_scope scope;
    kiln_cu_result result;

    *word = KILN_FAULT_NONE;
    if (kiln_cuda_enter_apart(cuda, &scope, err) != KILN_OK) {
        return err->status;
    }
    result = take_fault(cuda, word, &function);
    kiln_cuda_leave(cuda, &scope);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "kiln_fault_check: %s", function);
    }
    return KILN_OK;
}
