/* core_tables.h: tables written by hand, for tests of the planning core. The
 * ops, by their index in core_tables.ops:
 *
 *   add      y = a + alpha * b      broadcast, promoted, in place; attributes
 *                                   of each type, three of them baked
 *   chunked  y = softmax(x) + 1 rowwise  by steps: see core_tables.c
 *   loop     range(start, stop, step)    of copies, on attributes
 *   misuse   steps that are wrong, one a value of attribute `how`
 *   need     y[M] of x[M, N], w[N]  required and optional operands, an
 *                                   attribute `k` that lets divide by
 *   part     chunked by parts       nested steps: one chunked a part
 *   quad     y, z of a, b           four operands, in place not allowed
 *   recur    calls itself
 *   softmax  y[M, N] of x           rows; routes single (N <= 64) and looped
 *   update   y += x                 y is read and written, its shape is free
 *
 * Ladder rows has edges 4 64 1024 32768, census 5 100 4000; cols 16 64 1024
 * 32768, census 50 1000; elements 64 4096 2^20 2^40, census 77.
 */
#ifndef KILN_TESTS_CORE_TABLES_H
#define KILN_TESTS_CORE_TABLES_H

#include "core/tables.h"

enum {
    OP_ADD,
    OP_CHUNKED,
    OP_LOOP,
    OP_MISUSE,
    OP_NEED,
    OP_PART,
    OP_QUAD,
    OP_RECUR,
    OP_SOFTMAX,
    OP_UPDATE,
    OP_COUNT
};

/* Attributes of add, by index. */
enum { ADD_ALPHA, ADD_FLIP, ADD_MODE, ADD_SHIFT };

extern const kiln_tables core_tables;

/* Profiles: no classes; alignment; alignment and offsets' width. */
extern const kiln_arch *const core_plain;
extern const kiln_arch *const core_aligned;
extern const kiln_arch *const core_classed;

/* A tier on which add, quad, softmax and update have every lattice cell of
 * every group of core_plain, and softmax some census cells. Made on the first
 * call. */
const kiln_tier_table *core_tier(void);

#endif /* KILN_TESTS_CORE_TABLES_H */
