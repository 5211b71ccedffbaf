/* expr.h: the postfix machine behind every expression of a spec.
 *
 * Values are checked 64-bit integers, doubles, booleans and tensor views.
 * Integer results outside int64 and division by zero are errors; nothing
 * wraps. `//` and `%` floor (Python's rule) and take integers alone; `/` is a
 * double division and an error for a zero divisor; an int meets a float as a
 * double, rounded to nearest even, but comparisons of the two are exact, and
 * false with a NaN (`!=` true). Floats overflow to infinity. min and max give
 * the first of equal operands, each in its own kind, as Python's do.
 * lua/expr_compile.lua writes the code (ORDER: opcodes).
 */
#ifndef KILN_CORE_EXPR_H
#define KILN_CORE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables.h"
#include "view.h"

typedef enum kiln_opcode {
    KILN_X_INT = 1, /* push i */
    KILN_X_FLOAT,   /* push f */
    KILN_X_BOOL,    /* push i != 0 */
    KILN_X_LET,     /* push let i */
    KILN_X_ATTR,    /* push attribute i */
    KILN_X_TENSOR,  /* push tensor i; temporaries follow the op's tensors */
    KILN_X_LOOP,    /* push loop variable i */
    KILN_X_ARCH,    /* push field i of the arch profile */
    KILN_X_CONFIG,  /* push field i of the kernel's config */
    KILN_X_NEG,
    KILN_X_NOT,
    KILN_X_ADD,
    KILN_X_SUB,
    KILN_X_MUL,
    KILN_X_DIV,
    KILN_X_FLOORDIV,
    KILN_X_MOD,
    KILN_X_EQ, /* also of two bools */
    KILN_X_NE,
    KILN_X_LT,
    KILN_X_LE,
    KILN_X_GT,
    KILN_X_GE,
    KILN_X_JUMP,       /* skip i instructions */
    KILN_X_JUMP_FALSE, /* pop a bool; skip i instructions when false */
    KILN_X_AND,        /* a bool below: keep it and skip i when false,
                          else pop it and go on */
    KILN_X_OR,         /* the same when true */
    KILN_X_BOOLEAN,    /* the top must be a bool (end of and/or) */
    KILN_X_CDIV,       /* (a, b): ceiling division */
    KILN_X_NEXT_POW2,  /* (a >= 1): least power of two >= a */
    KILN_X_MIN,        /* argc >= 1 */
    KILN_X_MAX,
    KILN_X_CLAMP,      /* (v, low, high): low if v < low, high if v > high,
                          else v; low > high is an error */
    KILN_X_POPCOUNT,   /* (a >= 0) */
    KILN_X_ALIGN,      /* (v, to): v rounded up to a multiple; to > 0 */
    KILN_X_BUCKET,     /* (v): upper edge of v's bucket on ladder i, census
                          cells apart; an error off the ladder */
    KILN_X_SIZE,       /* (tensor, dim): dim may be negative; a scalar has
                          one dim of size 1, as for PyTorch's softmax */
    KILN_X_STRIDE,     /* (tensor, dim): in elements; 1 of a scalar */
    KILN_X_NUMEL,      /* (tensor) */
    KILN_X_RANK,       /* (tensor) */
    KILN_X_DTYPE,      /* (tensor): the kiln_dtype as int */
    KILN_X_DTYPE_SIZE, /* (tensor): bytes */
    KILN_X_PRESENT,    /* (tensor): whether an optional one was given */
    KILN_X_VIEW,       /* (tensor, d0 .. dn): argc counts tensor and dims */
    KILN_X_MERGE,      /* (tensor, first, last) */
    KILN_X_TRANSPOSE,  /* (tensor) last two, or (tensor, d0, d1) */
    KILN_X_SLICE,      /* (tensor, dim, start, stop) */
    KILN_X_EXPAND,     /* (tensor, d0 .. dn) */
    KILN_X_GROUP,      /* (tensor, parts): see kiln_view_group */
    KILN_X_FAIL,       /* no arm of a match holds: an error */
    KILN_X_COUNT
} kiln_opcode;

/* "ADD" for KILN_X_ADD, NULL outside the enum; and back, 0 when unknown. */
const char *kiln_opcode_name(int op);
int kiln_opcode_parse(const char *name);

typedef enum kiln_value_kind {
    KILN_V_NONE = 0,
    KILN_V_INT,
    KILN_V_FLOAT,
    KILN_V_BOOL,
    KILN_V_TENSOR
} kiln_value_kind;

typedef struct kiln_value {
    kiln_value_kind kind;
    int64_t i; /* int, bool, or index of a tensor in the scope; -1 for a
                  view that the expression made */
    double f;
} kiln_value;

/* Values an expression may hold at once; one view at a time. */
#define KILN_EXPR_STACK 64

/* What an expression can name. Read-only to the machine but for views. */
typedef struct kiln_scope {
    const kiln_tables *tables;
    const int64_t *arch;   /* fields of the profile, or NULL */
    const int64_t *config; /* or NULL */
    const kiln_value *lets;
    const kiln_value *attrs;
    const kiln_value *loops;
    const kiln_view *tensors; /* op's, then temporaries */
    int32_t n_arch, n_config, n_lets, n_attrs, n_loops, n_tensors;
} kiln_scope;

/* Result of an expression; a tensor result's view is `view`, which may be an
 * absent tensor's. Else `view` is scratch space: nothing need be set. */
typedef struct kiln_result {
    kiln_value value;
    kiln_view view;
} kiln_result;

/* Runs expr. false: `why` (of `cap` bytes) says what failed, without place.
 * Never reads outside code and scope, whatever the code's bytes are, and
 * ends: jumps go forward. Allocates nothing. */
bool kiln_expr_run(const kiln_expr *expr, const kiln_scope *scope,
                   kiln_result *result, char *why, size_t cap);
/* The same, for a value that must be an int (or bool, float). */
bool kiln_expr_int(const kiln_expr *expr, const kiln_scope *scope,
                   int64_t *value, char *why, size_t cap);
bool kiln_expr_bool(const kiln_expr *expr, const kiln_scope *scope, bool *value,
                    char *why, size_t cap);
bool kiln_expr_float(const kiln_expr *expr, const kiln_scope *scope,
                     double *value, char *why, size_t cap);

#endif /* KILN_CORE_EXPR_H */
