/* plan.h: the planner: from a call's metadata to launches. The generator's
 * census and lattice are this planner, run dry.
 */
#ifndef KILN_CORE_PLAN_H
#define KILN_CORE_PLAN_H

#include "arena.h"
#include "error.h"
#include "key.h"
#include "life.h"
#include "lookup.h"
#include "space.h"

#define KILN_MAX_SLOTS 128        /* 64-bit argument slots of a kernel */
#define KILN_MAX_BLOCKS INT32_MAX /* of a CUDA grid in x */
#define KILN_MAX_BLOCK_THREADS 1024
#define KILN_MAX_NODES 4096            /* launches of a plan */
#define KILN_MAX_BUFFERS KILN_LIFE_MAX /* of the caller and temporary */
#define KILN_MAX_DEPTH 8               /* nested ops */

typedef struct kiln_request {
    const kiln_tables *tables;
    const kiln_tier_table *tier; /* NULL: dry run, keys alone */
    const kiln_arch *arch;
    DLDevice device;
    const char *op;
    const DLTensor *const *tensors;
    int n_tensors;
    const kiln_attr *attrs;
    int n_attrs;
    const char *config; /* or NULL */
    const char *route;  /* or NULL */
    int64_t workspace_limit;
    bool accept_forced;
    uint64_t fault; /* address of the device's fault word; 0: none */
    const kiln_allocator *allocator;
} kiln_request;

/* A tensor's base pointer is buffer base + offset, put into `slot`. */
typedef struct kiln_patch {
    int32_t slot;
    int32_t buffer; /* index into kiln_program.buffers */
    int64_t offset; /* bytes */
} kiln_patch;

/* One launch. */
typedef struct kiln_node {
    const kiln_kernel *kernel; /* NULL on a dry run, or a memset */
    const kiln_cell_run *run;  /* NULL on a dry run and for a forced config */
    uint64_t cell;             /* of the run, packed */
    const kiln_key *key;
    int64_t units;
    int64_t grain;   /* at least 1 */
    int32_t threads; /* of a block; 0 on the cpu */
    int32_t shared;  /* dynamic bytes of a block */
    int32_t cluster; /* blocks of a cluster, at least 1 */
    uint64_t *args;
    kiln_patch *patches;
    int32_t n_args;
    int32_t n_patches;
    int32_t memset_buffer; /* a zeroed temporary to clear, else -1 */
} kiln_node;

/* A route that was chosen, for descriptions. */
typedef struct kiln_decision {
    const kiln_op *op;
    const kiln_route *route;
    int32_t depth;
} kiln_decision;

/* A caller's tensor as planned, for the checks at enqueue. */
typedef struct kiln_operand {
    kiln_view view;
    int64_t bytes;      /* that view spans from base + offset */
    uintptr_t base;     /* data pointer seen, 0: none */
    uint8_t role;       /* kiln_role */
    uint8_t align_log2; /* alignment of base + offset that keys relied on */
} kiln_operand;

typedef struct kiln_program {
    kiln_arena arena; /* owns all below and the program itself */
    const kiln_op *op;
    kiln_operand *operands;
    int32_t n_operands;
    kiln_node *nodes;
    int32_t n_nodes;
    kiln_decision *decisions;
    int32_t n_decisions;
    kiln_buffer *buffers; /* n_operands of the caller, then temporaries */
    int32_t n_buffers;
    int64_t workspace;
    int64_t bytes_read;
    int64_t bytes_written;
    int64_t flops;
} kiln_program;

/* Plans a call. On failure *program is NULL and err is set. */
kiln_status kiln_program_create(kiln_program **program,
                                const kiln_request *request, kiln_error *err);
void kiln_program_destroy(kiln_program *program);

/* Whether outputs overlap other operands in a way op does not allow, given
 * base addresses (0: taken as disjoint). Used at creation and at enqueue. */
kiln_status kiln_program_check_overlap(const kiln_op *op,
                                       const kiln_operand *operands, int n,
                                       const uintptr_t *base, kiln_error *err);

#endif /* KILN_CORE_PLAN_H */
