/* Modules, functions and launches of the emulated driver. */
#include "driver_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "kiln-emu:"
#define STATIC_SHARED ((size_t)49152) /* without the function's attribute */
#define PORTABLE_CLUSTER 8u

static void *open_object(const char *image)
{
    char path[4096];
    const size_t skip = sizeof PREFIX - 1;
    if (strncmp(image, PREFIX, skip) != 0) {
        snprintf(emu_cu.text, sizeof emu_cu.text,
                 "a module's image does not begin with " PREFIX);
        return NULL;
    }
    const size_t length = strcspn(image + skip, "\n");
    snprintf(path, sizeof path, "%.*s", (int)length, image + skip);
    void *object = dlopen(path[0] ? path : NULL, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(emu_cu.text, sizeof emu_cu.text, "%s", dlerror());
    }
    return object;
}

static kiln_cu_result load(emu_context *context, kiln_cu_module *handle,
                           const char *image)
{
    emu_module *module = calloc(1, sizeof *module);
    if (!module) {
        return KILN_CU_OUT_OF_MEMORY;
    }
    module->object = open_object(image);
    module->context = context;
    if (!module->object) {
        fprintf(stderr, "kiln-emu: %s\n", emu_cu.text);
        free(module);
        return KILN_CU_INVALID_IMAGE;
    }
    emu_cu.held.modules++;
    *handle = module;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result module_load_data(kiln_cu_module *module,
                                       const void *image)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    result = result == KILN_CU_SUCCESS ? emu_cu_forbid() : result;
    result = result == KILN_CU_SUCCESS ? load(context, module, image) : result;
    return emu_cu_leave(result);
}

static kiln_cu_result module_unload(kiln_cu_module handle)
{
    emu_module *module = handle;
    emu_context *context;
    const kiln_cu_result result = emu_cu_enter(&context);
    if (!module) {
        return emu_cu_leave(KILN_CU_INVALID_HANDLE);
    }
    while (module->functions) {
        emu_function *function = module->functions;
        module->functions = function->next;
        free(function);
    }
    (void)dlclose(module->object);
    free(module);
    emu_cu.held.modules--;
    return emu_cu_leave(result);
}

static kiln_cu_result resolve(emu_module *module, const char *name,
                              kiln_cu_function *handle)
{
    void *symbol = dlsym(module->object, name);
    if (!symbol) {
        return KILN_CU_NOT_FOUND;
    }
    emu_function *function = calloc(1, sizeof *function);
    if (!function) {
        return KILN_CU_OUT_OF_MEMORY;
    }
    snprintf(function->name, sizeof function->name, "%s", name);
    memcpy(&function->entry, &symbol, sizeof symbol);
    function->context = module->context;
    function->shared = STATIC_SHARED;
    function->next = module->functions;
    module->functions = function;
    *handle = function;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result module_get_function(kiln_cu_function *function,
                                          kiln_cu_module module,
                                          const char *name)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS) {
        result =
            module ? resolve(module, name, function) : KILN_CU_INVALID_HANDLE;
    }
    return emu_cu_leave(result);
}

static kiln_cu_result set(emu_function *function, int attribute, int value)
{
    switch (attribute) {
    case KILN_CU_FUNC_MAX_DYNAMIC_SHARED:
        if (value < 0 || value > function->context->device->shared_optin) {
            return KILN_CU_INVALID_VALUE;
        }
        function->shared = (size_t)value;
        return KILN_CU_SUCCESS;
    case KILN_CU_FUNC_NON_PORTABLE_CLUSTER:
        function->wide = value != 0;
        return KILN_CU_SUCCESS;
    default:
        return KILN_CU_INVALID_VALUE;
    }
}

static kiln_cu_result func_set_attribute(kiln_cu_function function,
                                         int attribute, int value)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS) {
        result =
            function ? set(function, attribute, value) : KILN_CU_INVALID_HANDLE;
    }
    return emu_cu_leave(result);
}

static kiln_cu_result func_load(kiln_cu_function function)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS && !function) {
        result = KILN_CU_INVALID_HANDLE;
    }
    return emu_cu_leave(result);
}

/* --- launches --------------------------------------------------------------
 */

/* What the driver refuses: CUDA Driver API, cuLaunchKernelEx; CUDA C++
 * Programming Guide, "Thread Block Clusters". */
static kiln_cu_result check(const emu_context *context, const emu_node *node)
{
    const emu_job *job = &node->job;
    const uint32_t most =
        node->function->wide ? EMU_MAX_CLUSTER : PORTABLE_CLUSTER;
    if (job->grid == 0 || job->grid > INT32_MAX || job->threads == 0 ||
        job->threads > EMU_MAX_THREADS ||
        job->shared_bytes > node->function->shared) {
        return KILN_CU_INVALID_VALUE;
    }
    if (job->cluster == 0 || job->cluster > most ||
        (job->cluster > 1 && context->device->capability < 90) ||
        job->grid % job->cluster) {
        return KILN_CU_INVALID_VALUE;
    }
    return node->function->context == context ? KILN_CU_SUCCESS
                                              : KILN_CU_INVALID_HANDLE;
}

static kiln_cu_result take_config(const kiln_cu_launch_config *config,
                                  emu_job *job)
{
    job->grid = config->grid_x;
    job->threads = config->block_x;
    job->shared_bytes = config->shared_bytes;
    job->cluster = 1;
    if (config->grid_y != 1 || config->grid_z != 1 || config->block_y != 1 ||
        config->block_z != 1) {
        return KILN_CU_INVALID_VALUE; /* kiln has one dimension */
    }
    for (unsigned i = 0; i < config->n_attributes; i++) {
        const kiln_cu_launch_attribute *attribute = &config->attributes[i];
        if (attribute->id != KILN_CU_LAUNCH_CLUSTER ||
            attribute->value.cluster.y != 1 ||
            attribute->value.cluster.z != 1) {
            return KILN_CU_INVALID_VALUE;
        }
        job->cluster = attribute->value.cluster.x;
    }
    return KILN_CU_SUCCESS;
}

/* The arguments as one buffer: the only way that kiln gives them. */
static kiln_cu_result take_args(void **params, void **extra, emu_node *node)
{
    const void *buffer = NULL;
    size_t bytes = 0;
    if (params || !extra) {
        return KILN_CU_INVALID_VALUE;
    }
    for (; extra[0] != KILN_CU_PARAM_END; extra += 2) {
        if (extra[0] == KILN_CU_PARAM_BUFFER) {
            buffer = extra[1];
        } else if (extra[0] == KILN_CU_PARAM_SIZE) {
            bytes = *(const size_t *)extra[1];
        } else {
            return KILN_CU_INVALID_VALUE;
        }
    }
    if (!buffer || bytes > sizeof node->args) {
        return KILN_CU_INVALID_VALUE;
    }
    memcpy(node->args, buffer, bytes);
    node->job.arg_bytes = bytes;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result launch_kernel_ex(const kiln_cu_launch_config *config,
                                       kiln_cu_function function, void **params,
                                       void **extra)
{
    emu_context *context;
    emu_node node;
    node.function = function;
    node.job = (emu_job){0};
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS && !function) {
        result = KILN_CU_INVALID_HANDLE;
    }
    if (result == KILN_CU_SUCCESS) {
        node.job.kernel = node.function->name;
        node.job.entry = node.function->entry;
        result = take_config(config, &node.job);
    }
    result =
        result == KILN_CU_SUCCESS ? take_args(params, extra, &node) : result;
    result = result == KILN_CU_SUCCESS ? check(context, &node) : result;
    if (result == KILN_CU_SUCCESS) {
        result = emu_cu_put(context, config->stream, &node);
    }
    return emu_cu_leave(result);
}

kiln_cu_result emu_cu_do(emu_context *context, const emu_node *node)
{
    if (!node->function) {
        if (node->source) {
            memcpy(node->target, node->source, node->bytes);
        } else {
            memset(node->target, node->value, node->bytes);
        }
        return KILN_CU_SUCCESS;
    }
    char text[EMU_TEXT];
    emu_job job = node->job;
    job.args = node->args;
    job.block_order = emu_cu.block_order;
    job.thread_order = emu_cu.thread_order;
    emu_cu.held.launches++;
    if (emu_run(&job, text, sizeof text)) {
        return KILN_CU_SUCCESS;
    }
    memcpy(emu_cu.text, text, sizeof text);
    return emu_cu_stick(context, KILN_CU_LAUNCH_FAILED);
}

void emu_cu_fill_launch(kiln_cuda_driver *driver)
{
    driver->module_load_data = module_load_data;
    driver->module_unload = module_unload;
    driver->module_get_function = module_get_function;
    driver->func_set_attribute = func_set_attribute;
    driver->func_load = func_load;
    driver->launch_kernel_ex = launch_kernel_ex;
}
