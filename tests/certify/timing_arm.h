/* timing_arm.h: what the files of timing.h share. */
#ifndef KILN_TESTS_TIMING_ARM_H
#define KILN_TESTS_TIMING_ARM_H

#include "call.h"
#include "contexts.h"
#include "gpu.h"
#include "timing.h"

#define TIMING_CONFIGS 64
#define TIMING_ROUNDS 41
#define TIMING_DESCRIBE 16384
#define TIMING_PEEK 65536 /* bytes of an output looked at in one place */
#define TIMING_PEEKS 4    /* places */

/* A config at work on the key. */
typedef struct timing_arm {
    const char *config;
    kiln_plan *plan;
    uint64_t first; /* hash of the outputs of its first run */
    uint64_t last;
    int64_t repeats; /* enqueues of one sample */
    double run_us;   /* rough */
    int64_t rounds;
    double samples[TIMING_ROUNDS];
    void *workspace; /* cpu */
    guard workspace_guard;
    kiln_cu_exec graph; /* CUDA */
} timing_arm;

struct timing {
    const journal *journal;
    contexts contexts;
    call call;
    int n_in;
    void *data[CALL_MAX_TENSORS];
    DLDataType filled_type[CALL_MAX_TENSORS]; /* of all inputs' room */
    size_t filled[CALL_MAX_TENSORS];
    timing_arm arms[TIMING_CONFIGS];
    int n_arms;
    char text[TIMING_DESCRIBE];
    char *why;
    size_t cap;

    call_buffers buffers; /* cpu */

    gpu gpu; /* CUDA, as all below */
    gpu_memory memory[CALL_MAX_TENSORS];
    gpu_memory workspace;
    char *block; /* host: what inputs repeat */
    char *peek;  /* host: places of an output */
};

/* Measure all arms: their first, last, rounds and samples. false with the
 * reason in why. */
bool timing_arms_cpu(timing *t);
bool timing_arms_cuda(timing *t);
void timing_release_cpu(timing *t);
void timing_release_cuda(timing *t);

/* Whether tensor i's room of so many bytes holds what its dtype asks for;
 * notes that it will. */
bool timing_is_filled(timing *t, int i, size_t room);
/* 64 bits that tell outputs apart. */
uint64_t timing_hash(const char *bytes, size_t n);

#endif /* KILN_TESTS_TIMING_ARM_H */
