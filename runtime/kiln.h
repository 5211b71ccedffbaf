/* kiln.h: the public interface of libkiln.
 *
 * A call is planned from metadata alone (kiln_plan_create), prepared once
 * (kiln_plan_prepare) and enqueued any number of times (kiln_plan_enqueue).
 * Only certified kernels run: a call whose launch key has no certificate is
 * refused by name, never served by something slower or unproven.
 *
 * Devices are the cpu ({kDLCPU, 0}) and those that the CUDA driver numbers
 * ({kDLCUDA, n}, n as of cuDeviceGet); the driver is opened when the first
 * context asks for it, and the device's primary context is used, which the
 * CUDA runtime and PyTorch use too. Whatever context is current in the calling
 * thread stays so. On CUDA a `stream` is a CUstream (or cudaStream_t) of that
 * device, given as void *; NULL is the legacy default stream. Tensors must be
 * of the context's own device: pinned and managed memory are not.
 *
 * Every function returns a kiln_status; kiln_last_error() holds the text of
 * the calling thread's latest failure. No global state: two contexts share
 * nothing. Unless a declaration says otherwise, distinct objects may be used
 * from distinct threads, and a prepared plan from many threads at once.
 */
#ifndef KILN_H
#define KILN_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#define KILN_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* these alone leave libkiln, which is built hidden */
#pragma GCC visibility push(default)
#endif

typedef enum kiln_status {
    KILN_OK = 0,
    KILN_INVALID_ARGUMENT, /* the call is wrong: text names op and argument */
    KILN_UNCERTIFIED,      /* no certificate for the launch key */
    KILN_STALE,            /* the certificate no longer fits its source */
    KILN_OUT_OF_MEMORY,    /* host or device allocation refused */
    KILN_WORKSPACE_LIMIT,  /* the plan needs more than options allow */
    KILN_NOT_PREPARED,     /* kiln_plan_prepare has not succeeded */
    KILN_DEVICE_ERROR,     /* device missing, lost or not served */
    KILN_FORKED,           /* the process was forked after creation */
    KILN_INTERNAL          /* a defect of kiln's own tables or code */
} kiln_status;

/* A device with its tables and, on the cpu, its thread pool; on CUDA, what was
 * loaded there. Thread-safe. */
typedef struct kiln_context kiln_context;
/* The resolved launches of one call. Immutable once prepared. */
typedef struct kiln_plan kiln_plan;

typedef enum kiln_attr_kind {
    KILN_ATTR_INT = 1,
    KILN_ATTR_FLOAT,
    KILN_ATTR_BOOL,
    KILN_ATTR_STRING
} kiln_attr_kind;

/* One named attribute: kind says which member of value holds. */
typedef struct kiln_attr {
    const char *name;
    kiln_attr_kind kind;
    union {
        int64_t i; /* KILN_ATTR_INT; KILN_ATTR_BOOL as 0 or 1 */
        double f;
        const char *s;
    } value;
} kiln_attr;

/* Hears each route's first choice, as in
 *   softmax: route looped: always; before it, "N <= 4096" does not hold
 * Called under no lock, possibly from several threads. */
typedef void kiln_log_fn(void *user, const char *text);

/* Where a context and its plans take memory from. Both are called from any
 * thread that plans. allocate returns NULL to refuse; alignment as malloc. */
typedef struct kiln_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory);
    void *user;
} kiln_allocator;

/* All other fields may be zero. Fields past `size` are taken as zero, so that
 * callers built with an older kiln.h go on working. */
typedef struct kiln_options {
    size_t size;             /* sizeof(kiln_options) */
    const char *tier;        /* NULL: the device's own; CUDA: or one whose
                                capability is not above the device's */
    const char *isa;         /* cpu: "base" or "avx2"; NULL: best present */
    const char *profile;     /* NULL: the device's arch profile */
    const char *config;      /* a named certified config, for diagnosis */
    const char *route;       /* force a route of the called op, by name */
    int64_t workspace_limit; /* bytes; 0: none */
    int32_t threads;         /* cpu: pool size with the caller; 0: one a
                                processor; 256 at most */
    int32_t accept_forced;   /* serve keys whose evidence is forced */
    kiln_log_fn *log;        /* NULL: silent */
    void *log_user;
    const kiln_allocator *allocator; /* copied; NULL: malloc and free */
} kiln_options;

/* One buffer of a plan's cost: a tensor of the caller or a temporary. */
typedef struct kiln_buffer_cost {
    const char *name;
    int64_t bytes;
    int64_t offset;    /* in the workspace; -1 for a caller's tensor */
    int32_t first_use; /* launch index */
    int32_t last_use;
} kiln_buffer_cost;

typedef struct kiln_cost {
    int64_t workspace_bytes;
    int64_t bytes_read;
    int64_t bytes_written;
    int64_t flops;
    int32_t launches;
    int32_t n_buffers;         /* written: all of them */
    int32_t buffer_capacity;   /* in: room in buffers */
    kiln_buffer_cost *buffers; /* in: may be NULL with capacity 0 */
} kiln_cost;

/* The lowest position at which a kernel met data it must refuse. */
typedef struct kiln_fault {
    const char *op; /* NULL: no fault */
    int64_t position;
} kiln_fault;

/* The text of this thread's latest failure, "" when there was none. Owned by
 * the library, valid until the thread's next call. */
const char *kiln_last_error(void);
/* "KILN_OK"; "?" for what is no status. */
const char *kiln_status_name(kiln_status status);
/* KILN_VERSION of the library, not of the header. */
const char *kiln_version(void);

/* A CUDA device is served as the profile of its exact chip, else as the best
 * of its class: the same major capability, and no more shared memory than it
 * has. Without a driver or device: KILN_DEVICE_ERROR, with what is missing.
 *
 * opt may be NULL; it and all it points to may go after the call. The context
 * belongs to the caller. In a process forked after this, the context and its
 * plans can only be destroyed: every other call is refused (KILN_FORKED). */
kiln_status kiln_context_create(kiln_context **ctx, DLDevice device,
                                const kiln_options *opt);
/* All plans of the context must be gone; on CUDA also the work that they
 * enqueued, and graphs that captured it. NULL is allowed. */
void kiln_context_destroy(kiln_context *ctx);

/* Plans op on tensors in the spec's order, an absent optional one NULL. Only
 * metadata is read; a tensor whose data is NULL is taken as 256-byte aligned
 * and disjoint from all others. Tensors and attrs may go after the call. */
kiln_status kiln_plan_create(kiln_plan **plan, kiln_context *ctx,
                             const char *op, const DLTensor *const *tensors,
                             int n_tensors, const kiln_attr *attrs,
                             int n_attrs);
void kiln_plan_destroy(kiln_plan *plan);
/* Loads modules, on the cpu starts the threads that the plan can use; the plan
 * is immutable afterwards. Idempotent. On the cpu, stream is NULL; on CUDA it
 * is one that the plan will be used on, and while that is captured a plan that
 * is not yet prepared is refused. Captures elsewhere are not disturbed. */
kiln_status kiln_plan_prepare(kiln_plan *plan, void *stream);
/* Bytes that enqueue needs, 256-byte aligned by the caller; 0: none. */
size_t kiln_plan_workspace(const kiln_plan *plan);
/* Fills cost, and its buffers as far as they have room. */
kiln_status kiln_plan_cost(const kiln_plan *plan, kiln_cost *cost);
/* Route and why, keys, kernels, evidence. Always ends in NUL; text longer
 * than cap is cut at the last whole line that fits. text NULL or cap 0 is an
 * error. */
kiln_status kiln_plan_describe(const kiln_plan *plan, char *text, size_t cap);
/* data[i] stands in for tensor i's data pointer (its byte_offset is added);
 * data NULL: the pointers seen at creation. Pointers may be less aligned than
 * at creation, or overlap, only as far as the planned kernels allow. On the
 * cpu, stream is NULL and the call returns when the work is done; on CUDA it
 * returns when the work is in the stream, and may be captured: the graph then
 * holds the pointers given here. Allocates nothing, takes no lock of the plan,
 * and may be called from many threads. */
kiln_status kiln_plan_enqueue(const kiln_plan *plan, void *const *data,
                              void *workspace, void *stream);
/* Waits for all work of the context's device, then gives the fault of all work
 * since the last check, and forgets it. Not in a capture. The cpu knows no
 * faults. */
kiln_status kiln_fault_check(kiln_context *ctx, kiln_fault *fault);
/* Plan, prepare, enqueue and destroy in one, on a workspace taken from the
 * context for the call: on CUDA, in the stream's order, from the device's
 * memory pool. Refused in a capture. The conveniences in kiln/ops.h stand on
 * it. */
kiln_status kiln_run(kiln_context *ctx, const char *op,
                     const DLTensor *const *tensors, int n_tensors,
                     const kiln_attr *attrs, int n_attrs, void *stream);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif /* KILN_H */
