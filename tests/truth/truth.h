/* truth.h: what every op must compute, in double. Written by hand from the
 * definitions cited in the .c files; it knows nothing of specs or of kiln
 * beyond its public types. Tensors may have any strides. All pointers are on
 * the host.
 */
#ifndef KILN_TESTS_TRUTH_H
#define KILN_TESTS_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kiln.h"

#define TRUTH_MAX_RANK 16

typedef enum truth_status {
    TRUTH_OK = 0,
    TRUTH_UNKNOWN_OP,
    TRUTH_BAD_CALL, /* shapes, dtypes or attributes the op does not have */
    TRUTH_NO_MEMORY
} truth_status;

/* An op's tensors are its inputs, then its outputs. false: unknown op. */
bool truth_arity(const char *op, int *n_in, int *n_out);

/* Writes output number output_index (from 0, among outputs) of the call as
 * dense row-major doubles of the output's shape. Values are not rounded to
 * the output's dtype, but do depend on it where the op converts to a bool or
 * an integer. Truth for an f64 output is within half a unit in the last place
 * and a little; otherwise within a few units of double. Returns a
 * truth_status; the output tensor's own memory is not read. */
int truth_eval(const char *op, const DLTensor *const *tensors, int n,
               const kiln_attr *attrs, int n_attrs, int output_index,
               double *out);

/* --- elements ----------------------------------------------------------- */

/* Bytes of one element of f16, bf16, f32, f64, bool and the integers of 8 to
 * 64 bits; 0 for any other. */
int64_t truth_size(DLDataType type);
int64_t truth_numel(const DLTensor *tensor);
/* Offset in elements of the element whose row-major index is flat. */
int64_t truth_offset(const DLTensor *tensor, int64_t flat);
/* Integers beyond 2^53 lose their low bits. */
double truth_read(const DLTensor *tensor, int64_t flat);
/* Rounds half to even; integers are truncated and a bool is value != 0. */
void truth_write(const DLTensor *tensor, int64_t flat, double value);

/* n elements from `first` on, `stride` elements apart. */
void truth_read_run(DLDataType type, const void *first, int64_t stride,
                    int64_t n, double *out);
void truth_write_run(DLDataType type, void *first, int64_t stride, int64_t n,
                     const double *in);

/* --- formats ------------------------------------------------------------ */

double truth_from_f16(uint16_t bits);
double truth_from_bf16(uint16_t bits);
/* To the nearest, ties to even, straight from double. */
uint16_t truth_to_f16(double value);
uint16_t truth_to_bf16(double value);
/* value rounded to the float type: the nearest, ties to even, beyond the
 * largest to infinity. */
double truth_round(DLDataType type, double value);
/* Spacing of the float type at value rounded to it: that of subnormals below
 * the least normal, that of the largest finite number at infinity. */
double truth_ulp(DLDataType type, double value);

/* --- work --------------------------------------------------------------- */

typedef void truth_body(void *user, int64_t first, int64_t last);
/* Runs body over 0 .. n-1, cut in two threads when n >= threshold. */
void truth_parallel(int64_t n, int64_t threshold, truth_body *body, void *user);

#endif /* KILN_TESTS_TRUTH_H */
