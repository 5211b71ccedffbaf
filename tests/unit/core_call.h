/* core_call.h: calls of core_tables' ops, for tests of the planning core. */
#ifndef KILN_TESTS_CORE_CALL_H
#define KILN_TESTS_CORE_CALL_H

#include "core/plan.h"
#include "core_tables.h"

#define CORE_MAX 8

/* A call under construction: tensors with storage of their own. */
typedef struct core_call {
    kiln_request request;
    DLTensor tensor[CORE_MAX];
    const DLTensor *pointer[CORE_MAX];
    int64_t size[CORE_MAX][KILN_MAX_RANK + 1];
    int64_t stride[CORE_MAX][KILN_MAX_RANK + 1];
    kiln_attr attr[KILN_MAX_ATTRS + 2];
    kiln_error err;
    kiln_program *program;
} core_call;

/* Starts a call of op on the plain profile, dry (no tier). */
void core_begin(core_call *call, const char *op);
/* The rank and sizes of a tensor, as core_tensor takes them: DIMS(2, 3); the
 * strides of one, as core_strides does. */
#define LIST(...) ((const int64_t[]){__VA_ARGS__})
#define DIMS(...)                                                              \
    (int)(sizeof LIST(__VA_ARGS__) / sizeof(int64_t)), LIST(__VA_ARGS__)
#define SCALAR 0, NULL

/* Adds a packed tensor. */
DLTensor *core_tensor(core_call *call, kiln_dtype dtype, int rank,
                      const int64_t *size);
/* Adds one with strides. */
DLTensor *core_strided(core_call *call, kiln_dtype dtype, int rank,
                       const int64_t *size, const int64_t *stride);
void core_absent(core_call *call);
void core_int(core_call *call, const char *name, int64_t value);
void core_float(core_call *call, const char *name, double value);
void core_bool(core_call *call, const char *name, int value);
void core_string(core_call *call, const char *name, const char *value);

/* Plans; the program is call->program, NULL on failure. */
kiln_status core_plan(core_call *call);
/* Plans, wants success. */
const kiln_program *core_succeed(core_call *call);
/* Plans, wants that failure, and `text` to be all of its text. */
void core_refuse(core_call *call, kiln_status status, const char *text);
/* The same, `part` being within the text. */
void core_refuse_with(core_call *call, kiln_status status, const char *part);
/* Frees the program. */
void core_end(core_call *call);

/* The key's text, with positions on the lattice. */
const char *core_key_text(const kiln_key *key, char *text, size_t cap);

/* xorshift64 (Marsaglia 2003): a fixed sequence for a seed above 0. */
uint64_t core_random(uint64_t *seed);
/* low .. high, both included. */
int64_t core_between(uint64_t *seed, int64_t low, int64_t high);

#endif /* KILN_TESTS_CORE_CALL_H */
