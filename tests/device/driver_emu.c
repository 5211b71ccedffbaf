/* certify_driver() of a runner without a GPU: the emulated driver of
 * tests/emu as an H200, and what the runner uses beyond the runtime: copies
 * to the device, graphs, events. Work is done when it is enqueued, so an event
 * is the time of its recording.
 */
#define _GNU_SOURCE
#include "../certify/driver.h"

#include <stdlib.h>
#include <time.h>

#include "../emu/driver_state.h"

/* --- copies --------------------------------------------------------------- */

static kiln_cu_result copy(kiln_cu_pointer to, const void *from, size_t bytes,
                           kiln_cu_stream stream)
{
    emu_context *context;
    emu_node node = {.target = (void *)(uintptr_t)to, .source = from};
    kiln_cu_result result = emu_cu_enter(&context);
    node.bytes = bytes;
    if (result == KILN_CU_SUCCESS)
        result = emu_cu_put(context, stream, &node);
    return emu_cu_leave(result);
}

static kiln_cu_result memcpy_htod_async(kiln_cu_pointer memory,
                                        const void *host, size_t bytes,
                                        kiln_cu_stream stream)
{
    return copy(memory, host, bytes, stream);
}

static kiln_cu_result memcpy_dtod_async(kiln_cu_pointer to,
                                        kiln_cu_pointer from, size_t bytes,
                                        kiln_cu_stream stream)
{
    return copy(to, (const void *)(uintptr_t)from, bytes, stream);
}

/* --- graphs --------------------------------------------------------------- */

/* A graph and its executable one are the same, of two owners. */
typedef struct shared_graph {
    emu_graph *graph;
    int owners;
} shared_graph;

static kiln_cu_result end_capture(kiln_cu_stream stream, kiln_cu_graph *graph)
{
    emu_graph *captured;
    kiln_cu_result result = emu_capture_end(stream, &captured);
    if (result != KILN_CU_SUCCESS)
        return result;
    shared_graph *shared = malloc(sizeof *shared);
    if (!shared) {
        emu_graph_destroy(captured);
        return KILN_CU_OUT_OF_MEMORY;
    }
    *shared = (shared_graph){captured, 1};
    *graph = shared;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result instantiate(kiln_cu_exec *exec, kiln_cu_graph graph,
                                  unsigned long long flags)
{
    shared_graph *shared = graph;
    if (flags != 0)
        return KILN_CU_INVALID_VALUE;
    shared->owners++;
    *exec = shared;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result launch(kiln_cu_exec exec, kiln_cu_stream stream)
{
    return emu_graph_launch(((const shared_graph *)exec)->graph, stream);
}

static kiln_cu_result disown(void *graph)
{
    shared_graph *shared = graph;
    if (--shared->owners > 0)
        return KILN_CU_SUCCESS;
    emu_graph_destroy(shared->graph);
    free(shared);
    return KILN_CU_SUCCESS;
}

/* --- events --------------------------------------------------------------- */

static kiln_cu_result event_create(kiln_cu_event *event, unsigned flags)
{
    *event = flags == KILN_CU_EVENT_DEFAULT ? calloc(1, sizeof(double)) : NULL;
    return *event ? KILN_CU_SUCCESS : KILN_CU_INVALID_VALUE;
}

static kiln_cu_result event_record(kiln_cu_event event, kiln_cu_stream stream)
{
    struct timespec t;
    double *ms = event;
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    return KILN_CU_SUCCESS;
}

static kiln_cu_result event_elapsed_time(float *ms, kiln_cu_event start,
                                         kiln_cu_event end)
{
    *ms = (float)(*(const double *)end - *(const double *)start);
    return KILN_CU_SUCCESS;
}

static kiln_cu_result event_destroy(kiln_cu_event event)
{
    free(event);
    return KILN_CU_SUCCESS;
}

const kiln_cuda_driver *certify_driver(const char **why)
{
    static const emu_device *const devices[] = {&emu_device_h200};
    static kiln_cuda_driver driver;
    *why = "";
    if (driver.init)
        return &driver;
    emu_driver_open(&driver, devices, 1);
    driver.memcpy_htod_async = memcpy_htod_async;
    driver.memcpy_dtod_async = memcpy_dtod_async;
    driver.stream_begin_capture = emu_capture_begin;
    driver.stream_end_capture = end_capture;
    driver.graph_instantiate = instantiate;
    driver.graph_launch = launch;
    driver.graph_destroy = disown;
    driver.graph_exec_destroy = disown;
    driver.event_create = event_create;
    driver.event_record = event_record;
    driver.event_elapsed_time = event_elapsed_time;
    driver.event_destroy = event_destroy;
    return &driver;
}
