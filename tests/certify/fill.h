/* fill.h: inputs that are the same on every machine: element i of a tensor
 * depends on the seed and i alone, whatever its strides.
 */
#ifndef KILN_TESTS_FILL_H
#define KILN_TESTS_FILL_H

#include "../truth/truth.h"

/* About normal, of standard deviation `scale`; bools are even odds. */
void fill_normal(const DLTensor *tensor, double scale, uint64_t seed);

/* Half of the elements as above with scale 8, half special: zeros, units,
 * infinities, NaN, subnormals, the least and largest normal numbers, ends of
 * exp's range, ties of f16 and bf16. */
void fill_special(const DLTensor *tensor, uint64_t seed);

/* Inputs of one call whose sums and differences cancel: the first, or another
 * of the same seed, whose elements are the first's at their place, of either
 * sign, over one of the factors; one in eight is near the dtype's largest. */
void fill_cancelling(const DLTensor *tensor, bool is_first,
                     const double *factors, int n, uint64_t seed);

/* Rows along dim of eight kinds in turn, from seed on: normal, some -Inf,
 * all -Inf, one NaN, all raised by 1e4, zeros and subnormals and the largest,
 * one +Inf, all equal. */
void fill_rows(const DLTensor *tensor, int64_t dim, uint64_t seed);

/* Rows along dim that lose a plain sum its accuracy: one large term among many
 * that each vanish beside it, and slow ascents. */
void fill_steep(const DLTensor *tensor, int64_t dim, uint64_t seed);

/* n elements one after another: normal, of a period, for timing alone. */
void fill_raw(DLDataType type, void *data, int64_t n, uint64_t seed);

#endif /* KILN_TESTS_FILL_H */
