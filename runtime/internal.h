/* internal.h: what the files of the public interface share. */
#ifndef KILN_INTERNAL_H
#define KILN_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/plan.h"
#include "cpu/cpu.h"
#include "cuda/cuda.h"

/* Written by the generator: out/table/tables.c. */
extern const kiln_tables kiln_generated_tables;

struct kiln_context {
    kiln_arena arena; /* owns all that is not said to lie elsewhere */
    const kiln_tables *tables;
    const kiln_tier_table *tier;
    const kiln_arch *arch;
    DLDevice device;
    const char *config;
    const char *route;
    int64_t workspace_limit;
    bool accept_forced;
    bool forced; /* tier or profile is not the device's own */
    kiln_log_fn *log;
    void *log_user;
    atomic_bool *heard; /* by log: one an op's route, in table order */
    pid_t pid;
    volatile int *alive; /* 1; 0 in a forked child. NULL: ask pid. A page of
                            its own, outside the arena */
    kiln_cuda *cuda;     /* NULL on the cpu */
    kiln_pool pool;      /* of the cpu alone */
};

struct kiln_plan {
    kiln_context *context;
    kiln_program *program;       /* whose arena holds the plan */
    kiln_cu_function *functions; /* CUDA: one a node, written by prepare */
    atomic_bool prepared;
};

/* The calling thread's error, which kiln_last_error reads. */
kiln_error *kiln_thread_error(void);

/* A device and the tables that serve it. */
typedef struct kiln_choice {
    const kiln_tier_table *tier;
    const kiln_arch *arch;
    bool forced;
    kiln_cuda *cuda; /* opened; NULL on the cpu */
} kiln_choice;

/* Checks `given` (or NULL) and copies it; fields that an older caller does
 * not know read as zero. */
kiln_status kiln_read_options(const kiln_options *given, kiln_options *options,
                              kiln_error *err);
/* driver: of CUDA devices; NULL: the machine's. */
kiln_status kiln_choose_device(const kiln_tables *tables, DLDevice device,
                               const kiln_options *options,
                               const kiln_cuda_driver *driver,
                               kiln_choice *choice, kiln_error *err);

/* kiln_context_create on given tables and driver. */
kiln_status kiln_context_create_on(kiln_context **ctx, DLDevice device,
                                   const kiln_options *opt,
                                   const kiln_tables *tables,
                                   const kiln_cuda_driver *driver);
/* KILN_OK, or KILN_FORKED with its text. */
kiln_status kiln_context_check_process(const kiln_context *ctx,
                                       const char *function);

/* Why `decision` was taken, in one line without its end. */
void kiln_describe_decision(const kiln_context *ctx,
                            const kiln_decision *decision, char *text,
                            size_t cap);

#endif /* KILN_INTERNAL_H */
