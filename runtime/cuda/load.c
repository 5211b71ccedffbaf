#include "state.h"

#include <string.h>

#include "core/sha256.h"

#define STATIC_SHARED 49152 /* bytes that every function may ask for */
#define PORTABLE_CLUSTER 8  /* blocks that every chip with clusters holds */

/* --- modules -------------------------------------------------------------- */

/* A module is checked once, before the driver sees it. */
static kiln_status check_image(const kiln_module *source, kiln_error *err)
{
    size_t n = (size_t)(source->image_end - source->image);
    char hex[65];

    if (n == 0) {
        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "module %s was not compiled into this library: build "
                         "it where nvcc is",
                         source->name);
    }
    kiln_sha256_hex(source->image, n, hex);
    if (strcmp(hex, source->sha256) != 0) {
        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "module %s is damaged: its SHA-256 is %s, not %s: "
                         "build or install the library again",
                         source->name, hex, source->sha256);
    }
    return KILN_OK;
}

static kiln_status load_module(kiln_cuda *cuda, const kiln_module *source,
                               kiln_cu_module *module, kiln_error *err)
{
    kiln_cuda_module *entry = cuda->modules;
    kiln_cu_result result;

    while (entry != NULL && entry->source != source) {
        entry = entry->next;
    }
    if (entry != NULL) {
        *module = entry->module;
        return KILN_OK;
    }
    if (check_image(source, err) != KILN_OK) {
        return err->status;
    }
    entry = kiln_arena_alloc(&cuda->arena, sizeof *entry);
    if (entry == NULL) {
        return kiln_fail(err, KILN_OUT_OF_MEMORY,
                         "module %s: allocation of %zu bytes was refused",
                         source->name, sizeof *entry);
    }
    result = cuda->driver.module_load_data(module, source->image);
    if (result != KILN_CU_SUCCESS) {
        return kiln_cuda_fail(&cuda->driver, result, err,
                              "module %s on %s: cuModuleLoadData", source->name,
                              cuda->facts.name);
    }
    *entry = (kiln_cuda_module){source, *module, cuda->modules};
    cuda->modules = entry;
    return KILN_OK;
}

/* --- functions ------------------------------------------------------------ */

static kiln_status fail_kernel(const kiln_cuda *cuda, const kiln_kernel *kernel,
                               kiln_cu_result result, const char *function,
                               kiln_error *err)
{
    return kiln_cuda_fail(&cuda->driver, result, err, "kernel %s of %s: %s",
                          kernel->symbol, kernel->module->name, function);
}

/* Where a driver loads functions when they are first launched, that is asked
 * for here: in a capture it could fail. */
static kiln_status load_function(kiln_cuda *cuda, const kiln_kernel *kernel,
                                 kiln_cu_function *function, kiln_error *err)
{
    const kiln_cuda_driver *driver = &cuda->driver;
    kiln_cu_module module;
    kiln_cu_result result;

    if (load_module(cuda, kernel->module, &module, err) != KILN_OK) {
        return err->status;
    }
    result = driver->module_get_function(function, module, kernel->symbol);
    if (result != KILN_CU_SUCCESS) {
        return fail_kernel(cuda, kernel, result, "cuModuleGetFunction", err);
    }
    if (driver->func_load != NULL) {
        result = driver->func_load(*function);
    }
    return result == KILN_CU_SUCCESS
               ? KILN_OK
               : fail_kernel(cuda, kernel, result, "cuFuncLoad", err);
}

static kiln_cuda_loaded **find_bucket(kiln_cuda *cuda,
                                      const kiln_kernel *kernel)
{
    uintptr_t address = (uintptr_t)kernel / sizeof *kernel;

    return &cuda->loaded[address % KILN_CUDA_BUCKETS];
}

static kiln_status find_kernel(kiln_cuda *cuda, const kiln_kernel *kernel,
                               kiln_cuda_loaded **found, kiln_error *err)
{
    kiln_cuda_loaded **bucket = find_bucket(cuda, kernel);
    kiln_cuda_loaded *entry = *bucket;
    kiln_cu_function function;

    while (entry != NULL && entry->kernel != kernel) {
        entry = entry->next;
    }
    *found = entry;
    if (entry != NULL) {
        return KILN_OK;
    }
    if (load_function(cuda, kernel, &function, err) != KILN_OK) {
        return err->status;
    }
    entry = kiln_arena_alloc(&cuda->arena, sizeof *entry);
    if (entry == NULL) {
        return kiln_fail(err, KILN_OUT_OF_MEMORY,
                         "kernel %s: allocation of %zu bytes was refused",
                         kernel->symbol, sizeof *entry);
    }
    *entry =
        (kiln_cuda_loaded){kernel, function, STATIC_SHARED, false, *bucket};
    *bucket = entry;
    *found = entry;
    return KILN_OK;
}

/* --- limits of a function ------------------------------------------------- */

/* Limits only rise: another plan may be launching the same function. */
static kiln_status raise_limits(const kiln_cuda *cuda, const kiln_node *node,
                                kiln_cuda_loaded *loaded, kiln_error *err)
{
    kiln_cu_result result;

    if (node->shared > loaded->shared) {
        result = cuda->driver.func_set_attribute(
            loaded->function, KILN_CU_FUNC_MAX_DYNAMIC_SHARED, node->shared);
        if (result != KILN_CU_SUCCESS) {
            return fail_kernel(cuda, node->kernel, result,
                               "cuFuncSetAttribute (shared memory)", err);
        }
        loaded->shared = node->shared;
    }
    if (node->cluster > PORTABLE_CLUSTER && !loaded->wide) {
        result = cuda->driver.func_set_attribute(
            loaded->function, KILN_CU_FUNC_NON_PORTABLE_CLUSTER, 1);
        if (result != KILN_CU_SUCCESS) {
            return fail_kernel(cuda, node->kernel, result,
                               "cuFuncSetAttribute (cluster)", err);
        }
        loaded->wide = true;
    }
    return KILN_OK;
}

static kiln_status check_node(const kiln_cuda *cuda, const kiln_node *node,
                              kiln_error *err)
{
    const kiln_kernel *kernel = node->kernel;

    if (kernel->module == NULL || node->threads < 1) {
        return kiln_fail(err, KILN_INTERNAL,
                         "kernel %s: its tables name no module or no threads",
                         kernel->symbol);
    }
    if (node->shared > cuda->facts.shared_bytes) {
        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "kernel %s of %s takes %d bytes of shared memory a "
                         "block, %s has %lld",
                         kernel->symbol, kernel->module->name,
                         (int)node->shared, cuda->facts.name,
                         (long long)cuda->facts.shared_bytes);
    }
    return KILN_OK;
}

static kiln_status prepare_node(kiln_cuda *cuda, const kiln_node *node,
                                kiln_cu_function *function, kiln_error *err)
{
    kiln_cuda_loaded *loaded;

    if (check_node(cuda, node, err) != KILN_OK ||
        find_kernel(cuda, node->kernel, &loaded, err) != KILN_OK ||
        raise_limits(cuda, node, loaded, err) != KILN_OK) {
        return err->status;
    }
    *function = loaded->function;
    return KILN_OK;
}

kiln_status kiln_cuda_prepare(kiln_cuda *cuda, const kiln_program *program,
                              kiln_cu_function *functions, kiln_error *err)
{
    kiln_cuda_scope scope;
    kiln_status status = kiln_cuda_enter_apart(cuda, &scope, err);

    if (status != KILN_OK) {
        return status;
    }
    pthread_mutex_lock(&cuda->lock);
    for (int32_t i = 0; i < program->n_nodes && status == KILN_OK; i++) {
        if (program->nodes[i].memset_buffer < 0) {
            status = prepare_node(cuda, &program->nodes[i], &functions[i], err);
        }
    }
    pthread_mutex_unlock(&cuda->lock);
    kiln_cuda_leave(cuda, &scope);
    return status;
}
