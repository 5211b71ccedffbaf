#include "gpu.h"

#include <assert.h>

#include "cuda/state.h"
#include "driver.h"

/* --- errors --------------------------------------------------------------- */

static bool check(gpu *g, kiln_cu_result result, const char *what)
{
    if (result == KILN_CU_SUCCESS)
        return true;
    (void)kiln_cuda_fail(g->driver, result, &g->error, "%s", what);
    g->why = g->error.text;
    return false;
}

/* --- the device ----------------------------------------------------------- */

/* The members that the runtime can do without, and this file cannot. */
static bool is_whole(const kiln_cuda_driver *d)
{
    return d->memcpy_htod_async && d->memcpy_dtod_async &&
           d->stream_begin_capture && d->stream_end_capture &&
           d->graph_instantiate && d->graph_launch && d->graph_destroy &&
           d->graph_exec_destroy && d->event_create && d->event_record &&
           d->event_elapsed_time && d->event_destroy;
}

bool gpu_open(gpu *g)
{
    *g = (gpu){.why = ""};
    g->driver = certify_driver(&g->why);
    if (!g->driver)
        return false;
    if (!is_whole(g->driver)) {
        g->why = "the CUDA driver lacks graphs or events";
        return false;
    }
    const kiln_cuda_driver *d = g->driver;
    if (!check(g, d->init(0), "cuInit") ||
        !check(g, d->device_get(&g->device, 0), "cuDeviceGet") ||
        !check(g, d->primary_ctx_retain(&g->context, g->device),
               "cuDevicePrimaryCtxRetain"))
        return false;
    if (check(g, d->ctx_push_current(g->context), "cuCtxPushCurrent") &&
        check(g, d->stream_create(&g->stream, KILN_CU_STREAM_NON_BLOCKING),
              "cuStreamCreate"))
        return true;
    gpu_close(g);
    return false;
}

void gpu_close(gpu *g)
{
    kiln_cu_context popped;
    if (!g->context)
        return;
    for (int i = 0; i < GPU_MARKS; i++)
        if (g->marks[i])
            (void)g->driver->event_destroy(g->marks[i]);
    if (g->stream)
        (void)g->driver->stream_destroy(g->stream);
    (void)g->driver->ctx_pop_current(&popped);
    (void)g->driver->primary_ctx_release(g->device);
    g->context = NULL;
}

bool gpu_wait(gpu *g)
{
    return check(g, g->driver->stream_synchronize(g->stream),
                 "cuStreamSynchronize");
}

/* --- memory --------------------------------------------------------------- */

void gpu_drop(gpu *g, gpu_memory *memory)
{
    if (memory->at)
        (void)g->driver->mem_free(memory->at);
    *memory = (gpu_memory){0};
}

bool gpu_fit(gpu *g, gpu_memory *memory, size_t bytes, bool exact)
{
    if (!exact && memory->at && bytes <= memory->bytes)
        return true;
    size_t room = 2 * memory->bytes; /* of what grows again and again */
    gpu_drop(g, memory);
    if (exact || room < bytes)
        room = bytes;
    room = room ? room : 1;
    if (g->driver->mem_alloc(&memory->at, room) != KILN_CU_SUCCESS) {
        room = bytes;
        if (!check(g, g->driver->mem_alloc(&memory->at, room), "cuMemAlloc")) {
            memory->at = 0;
            return false;
        }
    }
    memory->bytes = room;
    return true;
}

bool gpu_set(gpu *g, kiln_cu_pointer at, int byte, size_t bytes)
{
    return bytes == 0 || check(g,
                               g->driver->memset_d8_async(
                                   at, (unsigned char)byte, bytes, g->stream),
                               "cuMemsetD8Async");
}

bool gpu_put(gpu *g, kiln_cu_pointer at, const void *host, size_t bytes)
{
    return bytes == 0 ||
           check(g, g->driver->memcpy_htod_async(at, host, bytes, g->stream),
                 "cuMemcpyHtoDAsync");
}

bool gpu_get(gpu *g, void *host, kiln_cu_pointer at, size_t bytes)
{
    return bytes == 0 ||
           check(g, g->driver->memcpy_dtoh_async(host, at, bytes, g->stream),
                 "cuMemcpyDtoHAsync");
}

bool gpu_repeat(gpu *g, kiln_cu_pointer at, size_t head, size_t bytes)
{
    assert(head > 0);
    bool good = true;
    for (size_t done = head; good && done < bytes;) {
        size_t n = done < bytes - done ? done : bytes - done;
        good =
            check(g, g->driver->memcpy_dtod_async(at + done, at, n, g->stream),
                  "cuMemcpyDtoDAsync");
        done += n;
    }
    return good;
}

/* --- graphs --------------------------------------------------------------- */

bool gpu_begin(gpu *g)
{
    return check(
        g,
        g->driver->stream_begin_capture(g->stream, KILN_CU_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
}

bool gpu_end(gpu *g, kiln_cu_exec *graph)
{
    const kiln_cuda_driver *d = g->driver;
    kiln_cu_graph captured = NULL;
    *graph = NULL;
    if (!check(g, d->stream_end_capture(g->stream, &captured),
               "cuStreamEndCapture"))
        return false;
    bool good = check(g, d->graph_instantiate(graph, captured, 0),
                      "cuGraphInstantiate");
    (void)d->graph_destroy(captured);
    return good;
}

bool gpu_replay(gpu *g, kiln_cu_exec graph)
{
    return check(g, g->driver->graph_launch(graph, g->stream), "cuGraphLaunch");
}

void gpu_forget(gpu *g, kiln_cu_exec graph)
{
    if (graph)
        (void)g->driver->graph_exec_destroy(graph);
}

/* --- clocks --------------------------------------------------------------- */

bool gpu_mark(gpu *g, int mark)
{
    assert(mark >= 0 && mark < GPU_MARKS);
    kiln_cu_event *event = &g->marks[mark];
    if (!*event &&
        !check(g, g->driver->event_create(event, KILN_CU_EVENT_DEFAULT),
               "cuEventCreate")) {
        *event = NULL;
        return false;
    }
    return check(g, g->driver->event_record(*event, g->stream),
                 "cuEventRecord");
}

bool gpu_between(gpu *g, int from, int to, double *us)
{
    float ms;
    if (!check(g,
               g->driver->event_elapsed_time(&ms, g->marks[from], g->marks[to]),
               "cuEventElapsedTime"))
        return false;
    *us = 1000.0 * (double)ms;
    return true;
}
