#include "fake_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 8
#define FUNCTIONS 8

/* A module, a stream or memory. A module's functions are its own. */
typedef struct thing {
    struct thing *next;
    int n_functions;
    char functions[FUNCTIONS][64];
} thing;

fake_cuda fake;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static thing *things;
static char primary; /* its address is the context */
static _Thread_local void *stack[DEPTH];
static _Thread_local int depth;
static _Thread_local int mode;

void fake_reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.name = "NVIDIA H200";
    fake.capability = 90;
    fake.shared_bytes = 232448;
    fake.devices = 2;
    fake.failure = KILN_CU_INVALID_VALUE;
}

void *fake_current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

int fake_depth(void)
{
    return depth;
}

int fake_mode(void)
{
    return mode;
}

void fake_push(void *context)
{
    stack[depth++] = context;
}

void fake_pop(void)
{
    depth--;
}

/* --- what every call does ------------------------------------------------- */

static kiln_cu_result begin(fake_call call)
{
    const int n = atomic_fetch_add(&fake.n_calls, 1) + 1;

    atomic_fetch_add(&fake.calls[call], 1);
    if (n == fake.fail_at) {
        fake.failed = call;
        return fake.failure;
    }
    return KILN_CU_SUCCESS;
}

/* The same for calls that need the context; unsafe: also that no capture
 * elsewhere forbids them. */
static kiln_cu_result begin_inside(fake_call call, bool unsafe)
{
    const kiln_cu_result result = begin(call);

    if (fake_current() != &primary) {
        atomic_fetch_add(&fake.astray, 1);
    }
    if (unsafe && mode != KILN_CU_MODE_RELAXED) {
        atomic_fetch_add(&fake.mode_global, 1);
    }
    return result != KILN_CU_SUCCESS ? result : fake.sticky;
}

static void keep(thing *t)
{
    pthread_mutex_lock(&lock);
    t->next = things;
    things = t;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake.alive, 1);
}

static void drop(const void *address)
{
    thing **at = &things;
    thing *t;

    pthread_mutex_lock(&lock);
    while (*at != NULL && *at != address) {
        at = &(*at)->next;
    }
    t = *at;
    if (t == NULL) {
        abort(); /* given back twice, or never taken */
    }
    *at = t->next;
    pthread_mutex_unlock(&lock);
    free(t);
    atomic_fetch_sub(&fake.alive, 1);
}

/* --- start, devices, contexts --------------------------------------------- */

static kiln_cu_result init(unsigned flags)
{
    (void)flags;
    if (fake.devices == 0) {
        return KILN_CU_NO_DEVICE;
    }
    return begin(FAKE_INIT);
}

static kiln_cu_result driver_get_version(int *version)
{
    *version = 13000;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result get_error_name(kiln_cu_result error, const char **name)
{
    *name = error == KILN_CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == KILN_CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == KILN_CU_NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
            : error == KILN_CU_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
            : error == KILN_CU_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
                                             : NULL;
    return *name != NULL ? KILN_CU_SUCCESS : KILN_CU_INVALID_VALUE;
}

static kiln_cu_result get_error_string(kiln_cu_result error, const char **text)
{
    *text = error == KILN_CU_ILLEGAL_ADDRESS ? "an illegal access" : "a text";
    return KILN_CU_SUCCESS;
}

static kiln_cu_result device_get_count(int *count)
{
    *count = fake.devices;
    return begin(FAKE_DEVICE);
}

static kiln_cu_result device_get(kiln_cu_device *device, int ordinal)
{
    *device = 7 + ordinal;
    return begin(FAKE_DEVICE);
}

static kiln_cu_result device_get_name(char *name, int cap,
                                      kiln_cu_device device)
{
    (void)device;
    strncpy(name, fake.name, (size_t)cap - 1);
    return begin(FAKE_DEVICE);
}

static kiln_cu_result device_get_attribute(int *value, int attribute,
                                           kiln_cu_device device)
{
    (void)device;
    switch (attribute) {
    case KILN_CU_DEVICE_CAPABILITY_MAJOR:
        *value = fake.capability / 10;
        break;
    case KILN_CU_DEVICE_CAPABILITY_MINOR:
        *value = fake.capability % 10;
        break;
    case KILN_CU_DEVICE_SHARED_OPTIN:
        *value = fake.shared_bytes;
        break;
    default:
        *value = 132;
        break;
    }
    return begin(FAKE_DEVICE);
}

static kiln_cu_result primary_ctx_retain(kiln_cu_context *context,
                                         kiln_cu_device device)
{
    kiln_cu_result result = begin(FAKE_RETAIN);

    (void)device;
    if (result == KILN_CU_SUCCESS) {
        *context = &primary;
        atomic_fetch_add(&fake.retained, 1);
    }
    return result;
}

static kiln_cu_result primary_ctx_release(kiln_cu_device device)
{
    (void)device;
    if (atomic_fetch_sub(&fake.retained, 1) == 1) {
        while (things != NULL) {
            atomic_fetch_add(&fake.left, 1);
            drop(things);
        }
    }
    return begin(FAKE_RELEASE);
}

static kiln_cu_result ctx_get_current(kiln_cu_context *context)
{
    *context = fake_current();
    return begin(FAKE_GET_CURRENT);
}

static kiln_cu_result ctx_push_current(kiln_cu_context context)
{
    kiln_cu_result result = begin(FAKE_PUSH);

    if (result == KILN_CU_SUCCESS) {
        fake_push(context);
    }
    return result;
}

static kiln_cu_result ctx_pop_current(kiln_cu_context *context)
{
    *context = fake_current();
    fake_pop();
    return begin(FAKE_POP);
}

static kiln_cu_result ctx_synchronize(void)
{
    return begin_inside(FAKE_SYNCHRONIZE, true);
}

/* --- modules -------------------------------------------------------------- */

static kiln_cu_result module_load_data(kiln_cu_module *module,
                                       const void *image)
{
    kiln_cu_result result = begin_inside(FAKE_MODULE_LOAD, true);

    (void)image;
    if (result == KILN_CU_SUCCESS) {
        *module = calloc(1, sizeof(thing));
        keep(*module);
    }
    return result;
}

static kiln_cu_result module_unload(kiln_cu_module module)
{
    drop(module);
    return begin_inside(FAKE_MODULE_UNLOAD, true);
}

static kiln_cu_result module_get_function(kiln_cu_function *function,
                                          kiln_cu_module module,
                                          const char *name)
{
    kiln_cu_result result = begin_inside(FAKE_GET_FUNCTION, true);
    thing *t = module;

    if (result != KILN_CU_SUCCESS) {
        return result;
    }
    if (fake.missing != NULL && strcmp(fake.missing, name) == 0) {
        return KILN_CU_NOT_FOUND;
    }
    if (t->n_functions == FUNCTIONS) {
        abort(); /* looked up again and again */
    }
    *function = t->functions[t->n_functions];
    strncpy(t->functions[t->n_functions++], name, 63);
    return result;
}

static kiln_cu_result func_load(kiln_cu_function function)
{
    (void)function;
    return begin_inside(FAKE_FUNC_LOAD, true);
}

static kiln_cu_result func_set_attribute(kiln_cu_function function,
                                         int attribute, int value)
{
    kiln_cu_result result = begin_inside(FAKE_FUNC_ATTRIBUTE, true);

    (void)function;
    if (result == KILN_CU_SUCCESS &&
        attribute == KILN_CU_FUNC_MAX_DYNAMIC_SHARED) {
        fake.shared_limit = value;
    } else if (result == KILN_CU_SUCCESS) {
        fake.wide += attribute == KILN_CU_FUNC_NON_PORTABLE_CLUSTER && value;
    }
    return result;
}

/* --- streams -------------------------------------------------------------- */

static kiln_cu_result stream_create(kiln_cu_stream *stream, unsigned flags)
{
    kiln_cu_result result = begin_inside(FAKE_STREAM_CREATE, true);

    if (result == KILN_CU_SUCCESS) {
        *stream = calloc(1, sizeof(thing));
        keep(*stream);
    }
    return flags == KILN_CU_STREAM_NON_BLOCKING ? result
                                                : KILN_CU_INVALID_VALUE;
}

static kiln_cu_result stream_destroy(kiln_cu_stream stream)
{
    drop(stream);
    return begin_inside(FAKE_STREAM_DESTROY, true);
}

static kiln_cu_result stream_synchronize(kiln_cu_stream stream)
{
    (void)stream;
    return begin_inside(FAKE_STREAM_SYNCHRONIZE, true);
}

static kiln_cu_result stream_is_capturing(kiln_cu_stream stream, int *status)
{
    kiln_cu_result result = begin_inside(FAKE_IS_CAPTURING, false);

    (void)stream;
    *status = fake.capture;
    return result != KILN_CU_SUCCESS ? result : fake.capture_result;
}

static kiln_cu_result exchange_capture_mode(int *wanted)
{
    const int old = mode;

    mode = *wanted;
    *wanted = old;
    return begin(FAKE_EXCHANGE_MODE);
}

/* --- memory and launches -------------------------------------------------- */

/* What is kept lies before the memory given out, which it leaves aligned. */
#define BEFORE ((sizeof(thing) + 255) / 256 * 256)

static kiln_cu_pointer take(size_t bytes)
{
    thing *t = aligned_alloc(256, BEFORE + (bytes + 255) / 256 * 256);

    if (t == NULL) {
        abort();
    }
    keep(t);
    return (uintptr_t)t + BEFORE;
}

static void give(kiln_cu_pointer memory)
{
    drop((const void *)(uintptr_t)(memory - BEFORE));
}

static kiln_cu_result mem_alloc(kiln_cu_pointer *memory, size_t bytes)
{
    kiln_cu_result result = begin_inside(FAKE_MEM_ALLOC, true);

    if (result == KILN_CU_SUCCESS) {
        *memory = take(bytes);
    }
    return result;
}

static kiln_cu_result mem_free(kiln_cu_pointer memory)
{
    give(memory);
    return begin_inside(FAKE_MEM_FREE, true);
}

static kiln_cu_result mem_alloc_async(kiln_cu_pointer *memory, size_t bytes,
                                      kiln_cu_stream stream)
{
    kiln_cu_result result = begin_inside(FAKE_MEM_ALLOC_ASYNC, false);

    (void)stream;
    if (result == KILN_CU_SUCCESS) {
        *memory = take(bytes);
    }
    return result;
}

static kiln_cu_result mem_free_async(kiln_cu_pointer memory,
                                     kiln_cu_stream stream)
{
    (void)stream;
    give(memory);
    return begin_inside(FAKE_MEM_FREE_ASYNC, false);
}

static kiln_cu_result memset_d8_async(kiln_cu_pointer memory,
                                      unsigned char value, size_t bytes,
                                      kiln_cu_stream stream)
{
    kiln_cu_result result = begin_inside(FAKE_MEMSET, false);

    (void)stream;
    if (result == KILN_CU_SUCCESS) {
        memset((void *)(uintptr_t)memory, value, bytes);
    }
    return result;
}

static kiln_cu_result memcpy_dtoh_async(void *host, kiln_cu_pointer memory,
                                        size_t bytes, kiln_cu_stream stream)
{
    kiln_cu_result result = begin_inside(FAKE_MEMCPY, false);

    (void)stream;
    if (result == KILN_CU_SUCCESS) {
        memcpy(host, (const void *)(uintptr_t)memory, bytes);
    }
    return result;
}

static void record(const kiln_cu_launch_config *config,
                   kiln_cu_function function, void **extra)
{
    fake_launch *launch = &fake.launches[fake.n_launches++ % FAKE_LAUNCHES];

    launch->config = *config;
    launch->cluster = config->n_attributes == 1 &&
                              config->attributes->id == KILN_CU_LAUNCH_CLUSTER
                          ? config->attributes->value.cluster.x
                          : 0;
    launch->function = function;
    if (extra[0] != KILN_CU_PARAM_BUFFER || extra[2] != KILN_CU_PARAM_SIZE ||
        extra[4] != KILN_CU_PARAM_END) {
        abort();
    }
    launch->bytes = *(const size_t *)extra[3];
    memcpy(launch->args, extra[1], launch->bytes);
}

static kiln_cu_result launch_kernel_ex(const kiln_cu_launch_config *config,
                                       kiln_cu_function function, void **params,
                                       void **extra)
{
    kiln_cu_result result = begin_inside(FAKE_LAUNCH, false);

    if (result == KILN_CU_SUCCESS && params == NULL) {
        pthread_mutex_lock(&lock);
        record(config, function, extra);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

const kiln_cuda_driver fake_driver = {
    .init = init,
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
    .ctx_synchronize = ctx_synchronize,
    .module_load_data = module_load_data,
    .module_unload = module_unload,
    .module_get_function = module_get_function,
    .func_set_attribute = func_set_attribute,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_is_capturing = stream_is_capturing,
    .exchange_capture_mode = exchange_capture_mode,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_alloc_async = mem_alloc_async,
    .mem_free_async = mem_free_async,
    .memset_d8_async = memset_d8_async,
    .memcpy_dtoh_async = memcpy_dtoh_async,
    .launch_kernel_ex = launch_kernel_ex,
    .func_load = func_load,
};
