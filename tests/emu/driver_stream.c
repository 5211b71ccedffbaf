/* Streams, captures and graphs of the emulated driver. */
#include "driver_state.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local int thread_mode = KILN_CU_MODE_GLOBAL;

kiln_cu_result emu_cu_stream(kiln_cu_stream handle, emu_stream **stream)
{
    *stream = NULL;
    for (emu_stream *s = emu_cu.streams; handle && s; s = s->next) {
        *stream = s == handle ? s : *stream;
    }
    return handle && !*stream ? KILN_CU_INVALID_HANDLE : KILN_CU_SUCCESS;
}

/* CUDA Driver API, cuThreadExchangeStreamCaptureMode: whether a call that may
 * be unsafe is refused while s is captured. */
static bool forbids(const emu_stream *s)
{
    const bool own = pthread_equal(s->thread, pthread_self());
    if (s->status == KILN_CU_CAPTURE_NONE ||
        thread_mode == KILN_CU_MODE_RELAXED) {
        return false;
    }
    if (s->mode == KILN_CU_MODE_GLOBAL && thread_mode == KILN_CU_MODE_GLOBAL) {
        return true;
    }
    return own && s->mode != KILN_CU_MODE_RELAXED;
}

kiln_cu_result emu_cu_forbid(void)
{
    kiln_cu_result result = KILN_CU_SUCCESS;
    for (emu_stream *s = emu_cu.streams; s; s = s->next) {
        if (forbids(s)) {
            s->status = KILN_CU_CAPTURE_BROKEN;
            result = KILN_CU_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

/* The legacy default stream waits for blocking ones, also for one that is
 * captured: that cannot be. */
static kiln_cu_result check_legacy(const emu_context *context)
{
    kiln_cu_result result = KILN_CU_SUCCESS;
    for (emu_stream *s = emu_cu.streams; s; s = s->next) {
        if (s->context == context && s->blocking &&
            s->status != KILN_CU_CAPTURE_NONE) {
            s->status = KILN_CU_CAPTURE_BROKEN;
            result = KILN_CU_CAPTURE_IMPLICIT;
        }
    }
    return result;
}

static kiln_cu_result record(emu_graph *graph, const emu_node *node)
{
    if (graph->n == graph->cap) {
        const size_t cap = graph->cap ? 2 * graph->cap : 4;
        emu_node *nodes = realloc(graph->nodes, cap * sizeof *nodes);
        if (!nodes) {
            return KILN_CU_OUT_OF_MEMORY;
        }
        graph->nodes = nodes;
        graph->cap = cap;
    }
    graph->nodes[graph->n++] = *node;
    return KILN_CU_SUCCESS;
}

kiln_cu_result emu_cu_put(emu_context *context, kiln_cu_stream handle,
                          const emu_node *node)
{
    emu_stream *stream;
    kiln_cu_result result = emu_cu_stream(handle, &stream);
    if (result != KILN_CU_SUCCESS) {
        return result;
    }
    if (!stream) {
        result = check_legacy(context);
        return result == KILN_CU_SUCCESS ? emu_cu_do(context, node) : result;
    }
    if (stream->context != context) {
        return KILN_CU_INVALID_HANDLE;
    }
    switch (stream->status) {
    case KILN_CU_CAPTURE_ACTIVE:
        return record(stream->graph, node);
    case KILN_CU_CAPTURE_BROKEN:
        return KILN_CU_CAPTURE_INVALIDATED;
    default:
        return emu_cu_do(context, node);
    }
}

void emu_cu_drop_streams(void)
{
    while (emu_cu.streams) {
        emu_stream *stream = emu_cu.streams;
        emu_cu.streams = stream->next;
        emu_graph_destroy(stream->graph);
        free(stream);
    }
}

static kiln_cu_result stream_create(kiln_cu_stream *handle, unsigned flags)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    emu_stream *stream = NULL;
    if (result == KILN_CU_SUCCESS && flags > KILN_CU_STREAM_NON_BLOCKING) {
        result = KILN_CU_INVALID_VALUE;
    }
    if (result == KILN_CU_SUCCESS) {
        stream = calloc(1, sizeof *stream);
        result = stream ? KILN_CU_SUCCESS : KILN_CU_OUT_OF_MEMORY;
    }
    if (stream) {
        stream->context = context;
        stream->blocking = flags == 0;
        stream->next = emu_cu.streams;
        emu_cu.streams = stream;
        emu_cu.held.streams++;
        *handle = stream;
    }
    return emu_cu_leave(result);
}

static kiln_cu_result stream_destroy(kiln_cu_stream handle)
{
    pthread_mutex_lock(&emu_cu.lock);
    emu_stream **link = &emu_cu.streams;
    while (*link && *link != handle) {
        link = &(*link)->next;
    }
    emu_stream *stream = *link;
    if (!stream) {
        return emu_cu_leave(KILN_CU_INVALID_HANDLE);
    }
    *link = stream->next;
    emu_graph_destroy(stream->graph);
    free(stream);
    emu_cu.held.streams--;
    return emu_cu_leave(KILN_CU_SUCCESS);
}

static kiln_cu_result stream_synchronize(kiln_cu_stream handle)
{
    emu_context *context;
    emu_stream *stream;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS) {
        result = emu_cu_stream(handle, &stream);
    }
    if (result == KILN_CU_SUCCESS && !stream) {
        result = check_legacy(context);
    } else if (result == KILN_CU_SUCCESS &&
               stream->status != KILN_CU_CAPTURE_NONE) {
        stream->status = KILN_CU_CAPTURE_BROKEN;
        result = KILN_CU_CAPTURE_UNSUPPORTED;
    }
    return emu_cu_leave(result);
}

static kiln_cu_result stream_is_capturing(kiln_cu_stream handle, int *status)
{
    emu_context *context;
    emu_stream *stream;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS) {
        result = emu_cu_stream(handle, &stream);
    }
    if (result == KILN_CU_SUCCESS && !stream) {
        *status = KILN_CU_CAPTURE_NONE;
        result = check_legacy(context);
    } else if (result == KILN_CU_SUCCESS) {
        *status = stream->status;
    }
    return emu_cu_leave(result);
}

static kiln_cu_result exchange_capture_mode(int *mode)
{
    const int old = thread_mode;
    if (*mode < KILN_CU_MODE_GLOBAL || *mode > KILN_CU_MODE_RELAXED) {
        return KILN_CU_INVALID_VALUE;
    }
    thread_mode = *mode;
    *mode = old;
    return KILN_CU_SUCCESS;
}

void emu_cu_fill_stream(kiln_cuda_driver *driver)
{
    driver->stream_create = stream_create;
    driver->stream_destroy = stream_destroy;
    driver->stream_synchronize = stream_synchronize;
    driver->stream_is_capturing = stream_is_capturing;
    driver->exchange_capture_mode = exchange_capture_mode;
}

/* --- what the runtime does not call, and tests do ---------------------------
 */

kiln_cu_result emu_capture_begin(kiln_cu_stream handle, int mode)
{
    emu_stream *stream;
    pthread_mutex_lock(&emu_cu.lock);
    kiln_cu_result result = emu_cu_stream(handle, &stream);
    if (result == KILN_CU_SUCCESS &&
        (!stream || stream->status != KILN_CU_CAPTURE_NONE)) {
        result = KILN_CU_CAPTURE_UNSUPPORTED;
    }
    if (result == KILN_CU_SUCCESS) {
        stream->graph = calloc(1, sizeof *stream->graph);
        result = stream->graph ? KILN_CU_SUCCESS : KILN_CU_OUT_OF_MEMORY;
    }
    if (result == KILN_CU_SUCCESS) {
        stream->status = KILN_CU_CAPTURE_ACTIVE;
        stream->mode = mode;
        stream->thread = pthread_self();
    }
    return emu_cu_leave(result);
}

kiln_cu_result emu_capture_end(kiln_cu_stream handle, emu_graph **graph)
{
    emu_stream *stream;
    *graph = NULL;
    pthread_mutex_lock(&emu_cu.lock);
    kiln_cu_result result = emu_cu_stream(handle, &stream);
    if (result != KILN_CU_SUCCESS || !stream ||
        stream->status == KILN_CU_CAPTURE_NONE) {
        return emu_cu_leave(KILN_CU_INVALID_VALUE);
    }
    if (stream->status == KILN_CU_CAPTURE_BROKEN) {
        emu_graph_destroy(stream->graph);
        result = KILN_CU_CAPTURE_INVALIDATED;
    } else {
        *graph = stream->graph;
    }
    stream->graph = NULL;
    stream->status = KILN_CU_CAPTURE_NONE;
    return emu_cu_leave(result);
}

kiln_cu_result emu_graph_launch(const emu_graph *graph, kiln_cu_stream stream)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    for (size_t i = 0; result == KILN_CU_SUCCESS && i < graph->n; i++) {
        result = emu_cu_put(context, stream, &graph->nodes[i]);
    }
    return emu_cu_leave(result);
}

size_t emu_graph_nodes(const emu_graph *graph)
{
    return graph->n;
}

void emu_graph_destroy(emu_graph *graph)
{
    if (graph) {
        free(graph->nodes);
        free(graph);
    }
}
