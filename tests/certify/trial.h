/* trial.h: what the files of correct.h share. */
#ifndef KILN_TESTS_TRIAL_H
#define KILN_TESTS_TRIAL_H

#include "call.h"
#include "contexts.h"
#include "correct.h"
#include "gpu.h"
#include "judge.h"
#include "sample.h"

/* A tensor or workspace on the device: bytes [low, high) around `base`. */
typedef struct mirror {
    gpu_memory memory;
    kiln_cu_pointer base; /* GPU_ALIGN-aligned */
    int64_t low;
    int64_t high;
} mirror;

struct correct {
    samples samples;
    gpu gpu; /* context NULL: not yet open */
    contexts contexts;
    mirror mirrors[CALL_MAX_TENSORS];
    mirror workspace;
};

/* How kernels are run: on the cpu, on CUDA, there once. */
typedef struct trial trial;
typedef struct trial_way {
    bool (*open)(trial *t);
    bool (*place)(trial *t, int set); /* buffers; every set once */
    bool (*run)(trial *t);            /* a case, whose inputs are made */
    void (*end_call)(trial *t);
    void (*close)(trial *t);
} trial_way;

extern const trial_way trial_cpu;
extern const trial_way trial_cuda;
extern const trial_way trial_cuda_once;

struct trial {
    correct *correct;
    const work_kernel *kernel;
    correct_result *result;
    const trial_way *way;
    judge_limits limits;
    int n_in;
    int n_out;
    call call;
    call_buffers buffers;
    sample *sample;
    char *bits[CALL_MAX_TENSORS];  /* outputs of the first run */
    char *again[CALL_MAX_TENSORS]; /* of a later one */

    kiln_context *contexts[2]; /* cpu: of one thread and of more; CUDA: [0] */
    guard workspace;           /* cpu */
    kiln_plan *plan;           /* CUDA: of the call, as all below */
    DLTensor tensors[CALL_MAX_TENSORS];
    const DLTensor *list[CALL_MAX_TENSORS];
    kiln_cu_exec graph; /* NULL: not yet captured */
};

/* NaN in every float format; patterns unlike it and each other. */
#define TRIAL_RUNS 4
extern const int trial_poison[TRIAL_RUNS];

/* Each is false; the second puts the call first. */
bool trial_fail(trial *t, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool trial_fail_in(trial *t, const char *check, const char *what);

/* A prepared plan for these tensors, of the kernel on trial; or NULL. */
kiln_plan *trial_plan(trial *t, kiln_context *context,
                      const DLTensor *const *list, void *stream);
/* Takes an output out of its host buffer, which must be poison without it. */
bool trial_take(trial *t, int tensor, int poison, char *dense);
bool trial_judge(trial *t);
/* bits against again. */
bool trial_same(trial *t, const char *check);

#endif /* KILN_TESTS_TRIAL_H */
