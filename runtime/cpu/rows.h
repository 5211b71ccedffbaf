/* rows.h: where a row starts. Kernels walk one dim of the iteration space, the
 * row, and count the rows of all other dims from 0, the last dim fastest.
 */
#ifndef KILN_CPU_ROWS_H
#define KILN_CPU_ROWS_H

#include <stdint.h>

#include "half.h"

/* Outer dims at most. ORDER: KILN_MAX_RANK in core/tables.h. */
#define KILN_ROW_RANK 8

/* Position of row number `row` along each of the first rank dims. */
KILN_INLINE void kiln_row_index(int64_t *index, int64_t rank,
                                const int64_t *size, int64_t row)
{
    for (int64_t dim = rank - 1; dim > 0; dim--) {
        index[dim] = row % size[dim];
        row /= size[dim];
    }
    index[0] = row;
}

/* Offset of that position, in elements. */
KILN_INLINE int64_t kiln_row_offset(const int64_t *index, int64_t rank,
                                    const int64_t *stride)
{
    int64_t offset = 0;
    for (int64_t dim = 0; dim < rank; dim++) {
        offset += index[dim] * stride[dim];
    }
    return offset;
}

KILN_INLINE int64_t kiln_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif /* KILN_CPU_ROWS_H */
