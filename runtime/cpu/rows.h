/* rows.h: where a row starts and what it is cut into. Kernels walk one dim of
 * the iteration space, the row, and count the rows of all other dims from 0,
 * the last dim fastest.
 */
#ifndef KILN_CPU_ROWS_H
#define KILN_CPU_ROWS_H

#include <stddef.h>
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

/* The size of the parts that a row is cut into: `least`, or as many times that
 * as it takes to have no more than `parts` of them. */
KILN_INLINE int64_t kiln_part_size(int64_t size, int64_t least, int64_t parts)
{
    return (size + least * parts - 1) / (least * parts) * least;
}

/* Bytes that a processor takes from memory at once, or a divisor of them. */
#define KILN_LINE 64

/* Asks for count elements of so many bytes from row[first] on, which need not
 * be there, to be brought into the cache. */
KILN_INLINE void kiln_fetch(const void *row, int64_t first, int64_t count,
                            size_t bytes)
{
    const uintptr_t from = (uintptr_t)row + (uintptr_t)first * bytes;
    for (size_t at = 0; at < (size_t)count * bytes; at += KILN_LINE) {
        __builtin_prefetch((const void *)(from + at));
    }
}

#endif /* KILN_CPU_ROWS_H */
