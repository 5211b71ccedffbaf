#define _GNU_SOURCE
/* Memory of the emulated driver: host memory, poisoned, with guard bytes
 * behind it that are checked when it is freed. With AddressSanitizer its own
 * red zones watch instead. */
#include "driver_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "san.h"

#define ALIGN ((size_t)256) /* as cuMemAlloc's */
#define POISON 0xff
#define GUARD 0xa5
#ifdef KILN_EMU_ASAN
#define GUARD_BYTES ((size_t)0)
#else
#define GUARD_BYTES ((size_t)256)
#endif

static kiln_cu_result take(kiln_cu_pointer *pointer, size_t bytes)
{
    emu_memory *memory = malloc(sizeof *memory);
    void *at = NULL;
    if (bytes == 0) {
        free(memory);
        return KILN_CU_INVALID_VALUE;
    }
    if (!memory || posix_memalign(&at, ALIGN, bytes + GUARD_BYTES)) {
        free(memory);
        return KILN_CU_OUT_OF_MEMORY;
    }
    memset(at, POISON, bytes);
    memset((unsigned char *)at + bytes, GUARD, GUARD_BYTES);
    *memory = (emu_memory){at, bytes, emu_cu.memories};
    emu_cu.memories = memory;
    emu_cu.held.allocations++;
    *pointer = (kiln_cu_pointer)(uintptr_t)at;
    return KILN_CU_SUCCESS;
}

static bool guard_holds(const emu_memory *memory)
{
    const unsigned char *end = memory->at + memory->bytes;
    size_t i = 0;
    while (i != GUARD_BYTES && end[i] == GUARD) {
        i++;
    }
    return i == GUARD_BYTES;
}

static kiln_cu_result give(emu_context *context, kiln_cu_pointer pointer)
{
    emu_memory **link = &emu_cu.memories;
    while (*link && (*link)->at != (unsigned char *)(uintptr_t)pointer) {
        link = &(*link)->next;
    }
    emu_memory *memory = *link;
    if (!memory) {
        return KILN_CU_INVALID_VALUE;
    }
    const bool whole = guard_holds(memory);
    const size_t bytes = memory->bytes;
    *link = memory->next;
    emu_cu.held.allocations--;
    free(memory->at);
    free(memory);
    if (whole) {
        return KILN_CU_SUCCESS;
    }
    snprintf(emu_cu.text, sizeof emu_cu.text,
             "something wrote past the end of %zu bytes of device memory",
             bytes);
    return emu_cu_stick(context, KILN_CU_ILLEGAL_ADDRESS);
}

void emu_cu_drop_memory(void)
{
    while (emu_cu.memories) {
        emu_memory *memory = emu_cu.memories;
        emu_cu.memories = memory->next;
        free(memory->at);
        free(memory);
    }
}

static kiln_cu_result mem_alloc(kiln_cu_pointer *memory, size_t bytes)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    result = result == KILN_CU_SUCCESS ? emu_cu_forbid() : result;
    result = result == KILN_CU_SUCCESS ? take(memory, bytes) : result;
    return emu_cu_leave(result);
}

static kiln_cu_result mem_free(kiln_cu_pointer memory)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    result = result == KILN_CU_SUCCESS ? emu_cu_forbid() : result;
    if (result == KILN_CU_SUCCESS && memory) {
        result = give(context, memory);
    }
    return emu_cu_leave(result);
}

/* In a capture CUDA would make an allocation node; nobody here wants one. */
static kiln_cu_result not_captured(kiln_cu_stream handle)
{
    emu_stream *stream;
    const kiln_cu_result result = emu_cu_stream(handle, &stream);
    if (result == KILN_CU_SUCCESS && stream &&
        stream->status != KILN_CU_CAPTURE_NONE) {
        stream->status = KILN_CU_CAPTURE_BROKEN;
        return KILN_CU_CAPTURE_UNSUPPORTED;
    }
    return result;
}

static kiln_cu_result mem_alloc_async(kiln_cu_pointer *memory, size_t bytes,
                                      kiln_cu_stream stream)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    result = result == KILN_CU_SUCCESS ? not_captured(stream) : result;
    result = result == KILN_CU_SUCCESS ? take(memory, bytes) : result;
    return emu_cu_leave(result);
}

static kiln_cu_result mem_free_async(kiln_cu_pointer memory,
                                     kiln_cu_stream stream)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    result = result == KILN_CU_SUCCESS ? not_captured(stream) : result;
    result = result == KILN_CU_SUCCESS ? give(context, memory) : result;
    return emu_cu_leave(result);
}

static kiln_cu_result put(kiln_cu_stream stream, emu_node node)
{
    emu_context *context;
    kiln_cu_result result = emu_cu_enter(&context);
    if (result == KILN_CU_SUCCESS && node.bytes) {
        result = emu_cu_put(context, stream, &node);
    }
    return emu_cu_leave(result);
}

static kiln_cu_result memset_d8_async(kiln_cu_pointer memory,
                                      unsigned char value, size_t bytes,
                                      kiln_cu_stream stream)
{
    return put(stream, (emu_node){.target = (void *)(uintptr_t)memory,
                                  .bytes = bytes,
                                  .value = value});
}

static kiln_cu_result memcpy_dtoh_async(void *host, kiln_cu_pointer memory,
                                        size_t bytes, kiln_cu_stream stream)
{
    return put(stream, (emu_node){.target = host,
                                  .source = (const void *)(uintptr_t)memory,
                                  .bytes = bytes});
}

void emu_cu_fill_memory(kiln_cuda_driver *driver)
{
    driver->mem_alloc = mem_alloc;
    driver->mem_free = mem_free;
    driver->mem_alloc_async = mem_alloc_async;
    driver->mem_free_async = mem_free_async;
    driver->memset_d8_async = memset_d8_async;
    driver->memcpy_dtoh_async = memcpy_dtoh_async;
}
