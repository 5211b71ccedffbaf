/* call.h: a complete call as text, and the buffers it works on.
 *
 *   softmax x=f16[3,17] y=f32[3,17]:[20,1]+3 dim=-1 log=false
 *
 * The op, then tensors in the spec's order: NAME=DTYPE[dims], and where they
 * differ from row-major `:[strides]` in elements, then `+offset` in elements
 * from the buffer's base. NAME=none is an absent optional tensor where a
 * tensor follows it (outputs come last). What follows the last tensor are
 * attributes: true and false are bools, digits an int, a number with a point
 * or an exponent a float, anything else a string, as is all in "quotes".
 */
#ifndef KILN_TESTS_CALL_H
#define KILN_TESTS_CALL_H

#include "../truth/truth.h"
#include "guard.h"

#define CALL_TEXT 1024
#define CALL_MAX_RANK 16
#define CALL_MAX_TENSORS 16
#define CALL_MAX_ATTRS 16

typedef struct call_tensor {
    const char *name;
    DLTensor tensor;
    int64_t shape[CALL_MAX_RANK];
    int64_t strides[CALL_MAX_RANK];
} call_tensor;

/* Points into itself: not to be copied. */
typedef struct call {
    char text[CALL_TEXT]; /* as given */
    char words[CALL_TEXT];
    const char *op;
    int n_tensors;
    call_tensor tensors[CALL_MAX_TENSORS];
    const DLTensor *list[CALL_MAX_TENSORS]; /* NULL: absent */
    int n_attrs;
    kiln_attr attrs[CALL_MAX_ATTRS];
} call;

/* One buffer a tensor; grows as calls need, kept between calls. */
typedef struct call_buffers {
    guard guards[CALL_MAX_TENSORS];
} call_buffers;

/* The dtype called name ("f16"), n bytes of it; false: none is. */
bool call_dtype(const char *name, size_t n, DLDataType *type);

/* false, with the reason in why, when text is no call. Data pointers of the
 * tensors stay NULL. */
bool call_parse(call *c, const char *text, char *why, size_t cap);

/* Byte extent [low, high) of a tensor's elements from its base pointer, which
 * is `data`; empty for a tensor without elements. */
void call_extent(const DLTensor *tensor, int64_t *low, int64_t *high);

/* Gives every tensor its buffer: bases 256-byte aligned, or, with flush, the
 * last byte of each extent right before a guard page. Contents are whatever
 * was there. false when the system refuses memory. */
bool call_place(call *c, call_buffers *buffers, bool flush);
void call_release(call_buffers *buffers);

/* Runs of equal step that make up a tensor: body gets the address of the
 * first element, the step in elements, and the row-major index of the first
 * of n elements. One thread, in order, from element first to last - 1. */
typedef void call_run(void *user, char *address, int64_t step, int64_t index,
                      int64_t n);
void call_runs(const DLTensor *tensor, int64_t first, int64_t last,
               call_run *body, void *user);

/* The tensor's elements one after another in row-major order. */
void call_gather(const DLTensor *tensor, void *dense);
/* Sets every byte of every element, and none between. */
void call_paint(const DLTensor *tensor, int byte);

#endif /* KILN_TESTS_CALL_H */
