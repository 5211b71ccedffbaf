/* driver_state.h: what the files of the emulated driver share. Everything is
 * guarded by emu_cu.lock, which each entry holds. */
#ifndef KILN_EMU_DRIVER_STATE_H
#define KILN_EMU_DRIVER_STATE_H

#include <pthread.h>

#include "driver.h"

enum { EMU_CONTEXT_DEPTH = 16 };

typedef struct emu_context {
    const emu_device *device;
    int retains;
    int sticky; /* the error that every call returns, or success */
} emu_context;

typedef struct emu_module {
    void *object; /* of dlopen */
    emu_context *context;
    struct emu_function *functions;
} emu_module;

typedef struct emu_function {
    char name[128];
    void (*entry)(void);
    emu_context *context;
    size_t shared; /* dynamic bytes allowed */
    bool wide;     /* clusters of more than 8 blocks allowed */
    struct emu_function *next;
} emu_function;

/* One thing that a stream does. */
typedef struct emu_node {
    const emu_function *function; /* NULL: fill or copy */
    emu_job job;
    void *target;
    const void *source; /* NULL: fill */
    size_t bytes;
    unsigned char value;
    unsigned char args[4096]; /* CUDA's limit of a kernel's arguments */
} emu_node;

struct emu_graph {
    emu_node *nodes;
    size_t n;
    size_t cap;
};

typedef struct emu_stream {
    emu_context *context;
    bool blocking; /* waits for the legacy default stream */
    int status;    /* KILN_CU_CAPTURE_... */
    int mode;
    pthread_t thread; /* that began the capture */
    emu_graph *graph;
    struct emu_stream *next;
} emu_stream;

typedef struct emu_memory {
    unsigned char *at;
    size_t bytes;
    struct emu_memory *next;
} emu_memory;

typedef struct emu_cuda {
    pthread_mutex_t lock;
    bool started; /* cuInit */
    emu_context contexts[EMU_DEVICES];
    int n_devices;
    emu_order block_order;
    emu_order thread_order;
    emu_stream *streams;
    emu_memory *memories;
    emu_held held;
    char text[EMU_TEXT];
} emu_cuda;

extern emu_cuda emu_cu;

/* Takes the lock; the caller's context, if it has one that works. Every entry
 * ends with emu_cu_leave. */
kiln_cu_result emu_cu_enter(emu_context **context);
kiln_cu_result emu_cu_leave(kiln_cu_result result);

/* An error that stays, with its text. */
kiln_cu_result emu_cu_stick(emu_context *context, kiln_cu_result result);

/* The stream of a handle (NULL: NULL), or an error. */
kiln_cu_result emu_cu_stream(kiln_cu_stream handle, emu_stream **stream);
/* For calls that no capture allows: breaks it and says so. */
kiln_cu_result emu_cu_forbid(void);
/* Does or records the node. */
kiln_cu_result emu_cu_put(emu_context *context, kiln_cu_stream stream,
                          const emu_node *node);
kiln_cu_result emu_cu_do(emu_context *context, const emu_node *node);

/* What an earlier start left. */
void emu_cu_drop_memory(void);
void emu_cu_drop_streams(void);

/* driver_memory.c, driver_launch.c, driver_stream.c fill their parts. */
void emu_cu_fill_memory(kiln_cuda_driver *driver);
void emu_cu_fill_launch(kiln_cuda_driver *driver);
void emu_cu_fill_stream(kiln_cuda_driver *driver);

#endif /* KILN_EMU_DRIVER_STATE_H */
