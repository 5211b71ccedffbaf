/* tables.h: what specs become. The generator fills these structs from Lua
 * and writes the same values as C data to out/table; the planner reads them.
 * Names are unique within their list; lists that are searched are sorted by
 * the bytes of their name. gen/schema.c lists every field once more by
 * offset: change both (ORDER: tables).
 */
#ifndef KILN_CORE_TABLES_H
#define KILN_CORE_TABLES_H

#include <stdint.h>

#include "dtype.h"

/* Raised whenever a struct here or an opcode in expr.h changes meaning. */
#define KILN_TABLE_LAYOUT 3

#define KILN_MAX_RANK 8
#define KILN_MAX_TENSORS 8 /* of one op */
#define KILN_MAX_ATTRS 12
#define KILN_MAX_LETS 24
#define KILN_MAX_AXES 4 /* of one key: 16 bits each of a packed cell */
#define KILN_MAX_LOOPS 4

/* --- expressions: postfix code of the machine in expr.h ----------------- */

typedef struct kiln_ins {
    uint8_t op;   /* kiln_opcode */
    uint8_t argc; /* operands of a call or list, else 0 */
    int64_t i;    /* integer immediate, slot, jump distance */
    double f;     /* immediate of KILN_X_FLOAT, else 0 */
} kiln_ins;

typedef struct kiln_expr {
    const char *text; /* as written in the spec; "" when absent */
    const kiln_ins *code;
    int32_t n_code; /* 0: absent */
} kiln_expr;

/* --- ops ---------------------------------------------------------------- */

typedef enum kiln_role { KILN_IN = 0, KILN_OUT, KILN_INOUT } kiln_role;

typedef enum kiln_shape_rule {
    KILN_SHAPE_FREE = 0,  /* any shape */
    KILN_SHAPE_LIKE,      /* that of tensor `like` */
    KILN_SHAPE_BROADCAST, /* that of all inputs broadcast together */
    KILN_SHAPE_EXPRS      /* the values of `shape` */
} kiln_shape_rule;

typedef struct kiln_op_tensor {
    const char *name;
    uint8_t role; /* kiln_role */
    uint8_t optional;
    uint8_t keyed;      /* its dtype stands in the key */
    uint32_t dtypes;    /* allowed outright: bit 1 << kiln_dtype */
    uint32_t like;      /* or equal to one of these tensors: bit 1 << index */
    uint32_t promote;   /* or the promotion of these tensors */
    uint8_t shape_rule; /* kiln_shape_rule; of an input: FREE or EXPRS */
    uint8_t shape_like;
    const kiln_expr *shape;
    int32_t n_shape;
} kiln_op_tensor;

typedef enum kiln_attr_type {
    KILN_TYPE_INT = 1,
    KILN_TYPE_FLOAT,
    KILN_TYPE_BOOL,
    KILN_TYPE_STRING /* held as the index of its choice */
} kiln_attr_type;

typedef struct kiln_op_attr {
    const char *name;
    uint8_t type;     /* kiln_attr_type */
    uint8_t baked;    /* stands in the key */
    uint8_t required; /* no default */
    int64_t i;        /* default of int, bool, string (choice index) */
    double f;         /* default of float */
    const char *const *choices; /* of string */
    int32_t n_choices;
} kiln_op_attr;

typedef struct kiln_let {
    const char *name;
    kiln_expr expr;
} kiln_let;

/* Operand or attribute number `slot` of the callee gets `expr`'s value. */
typedef struct kiln_binding {
    int32_t slot;
    kiln_expr expr;
} kiln_binding;

typedef struct kiln_step {
    kiln_expr when; /* absent: always */
    const char *op; /* callee; "" for a loop */
    const kiln_binding *tensors;
    int32_t n_tensors;
    const kiln_binding *attrs;
    int32_t n_attrs;
    int32_t loop;    /* a loop: its variable's slot */
    kiln_expr start; /* for v in range(start, stop, step) */
    kiln_expr stop;
    kiln_expr step;
    const struct kiln_step *body;
    int32_t n_body;
} kiln_step;

typedef struct kiln_temporary {
    const char *name;
    uint8_t dtype; /* when `dtype_like` is -1 */
    uint8_t zeroed;
    int32_t dtype_like; /* tensor index, or -1 */
    const kiln_expr *shape;
    int32_t n_shape;
} kiln_temporary;

typedef struct kiln_route {
    const char *name;  /* the variant's, or the composite route's own */
    kiln_expr when;    /* absent: always */
    int32_t composite; /* 1: steps; 0: the variant called `name` */
    const kiln_temporary *temporaries;
    int32_t n_temporaries;
    const kiln_step *steps;
    int32_t n_steps;
} kiln_route;

/* How the tensors' dims are canonicalised before a kernel sees them. */
typedef enum kiln_space_kind {
    KILN_SPACE_NONE = 0,
    KILN_SPACE_BROADCAST, /* all dims of the outputs, inputs broadcast */
    KILN_SPACE_ROWS       /* dims of tensor 0 but one, and that one apart */
} kiln_space_kind;

typedef struct kiln_axis {
    const char *name;
    int32_t ladder; /* index into kiln_tables.ladders */
    kiln_expr expr; /* the size that is bucketed */
} kiln_axis;

typedef struct kiln_op {
    const char *name;
    const char *spec; /* "spec/op/softmax.yaml" */
    const kiln_op_tensor *tensors;
    int32_t n_tensors;
    const kiln_op_attr *attrs;
    int32_t n_attrs;
    const kiln_let *lets;
    int32_t n_lets;
    const kiln_route *routes;
    int32_t n_routes;
    uint8_t space;     /* kiln_space_kind */
    kiln_expr row_dim; /* KILN_SPACE_ROWS: the dim set apart */
    uint8_t in_place;  /* an output may alias an input exactly */
    const kiln_axis *axes;
    int32_t n_axes;
    kiln_expr flops; /* of one call, for the cost */
} kiln_op;

/* --- ladders and arch profiles ------------------------------------------ */

/* Bucket i holds edge[i-1] < v <= edge[i]; edge[-1] is 0. A census cell
 * holds exactly its size. Both ascend. */
typedef struct kiln_ladder {
    const char *name;
    const int64_t *edges;
    int32_t n_edges;
    const int64_t *census;
    int32_t n_census;
} kiln_ladder;

#define KILN_CLASS_ALIGN 1 /* alignment of every row's start */
#define KILN_CLASS_WIDE 2  /* 32- or 64-bit element offsets */

typedef struct kiln_arch {
    const char *name; /* profile */
    const char *tier;
    uint8_t classes;       /* KILN_CLASS_ bits that its keys hold */
    const int64_t *fields; /* in the order of kiln_tables.arch_fields */
    int32_t n_fields;
    const char *chip;   /* the device's name in full, or "": a class */
    int32_t capability; /* major * 10 + minor; 0: no CUDA device */
} kiln_arch;

/* --- certified kernels --------------------------------------------------- */

/* One 64-bit argument slot of a kernel's argument struct. */
typedef enum kiln_slot_kind {
    KILN_SLOT_DATA = 0,   /* tensor's base pointer */
    KILN_SLOT_RANK,       /* outer dims after merging */
    KILN_SLOT_SIZE,       /* KILN_MAX_RANK slots: outer sizes, padded with 1 */
    KILN_SLOT_STRIDE,     /* KILN_MAX_RANK slots: tensor's outer strides */
    KILN_SLOT_ROW_SIZE,   /* size of the dim set apart */
    KILN_SLOT_ROW_STRIDE, /* tensor's stride along it */
    KILN_SLOT_INT,        /* value of expr */
    KILN_SLOT_FLOAT,      /* value of expr as double */
    KILN_SLOT_FAULT       /* 2 slots: address of the device's fault word, and
                             what marks the op there (KILN_FAULT_SHIFT) */
} kiln_slot_kind;

/* A kernel that meets data it must refuse takes the unsigned minimum of the
 * fault word and the op's mark | the position: the op's index in the tables
 * in the high 16 bits. */
#define KILN_FAULT_SHIFT 48

typedef struct kiln_slot {
    uint8_t kind; /* kiln_slot_kind */
    uint8_t tensor;
    kiln_expr expr;
} kiln_slot;

/* How a variant is launched on a tier: shared by its kernels. Expressions
 * see the op's lets and the kernel's config. */
typedef struct kiln_recipe {
    const kiln_slot *slots;
    int32_t n_slots;
    kiln_expr units;   /* independent units of work, 0 .. units-1; CUDA: blocks
                          of the grid */
    kiln_expr grain;   /* cpu: units worth a thread's while */
    kiln_expr threads; /* CUDA: of a block; absent on the cpu */
    kiln_expr shared;  /* CUDA: dynamic shared bytes of a block; absent: 0 */
    kiln_expr cluster; /* CUDA: blocks of a cluster; absent: 1 */
} kiln_recipe;

/* A cpu kernel does units first .. last-1. args: the packed slots. */
typedef void kiln_cpu_kernel(const void *args, int64_t first, int64_t last);

/* The kernels of an op for one tier, compiled: a cubin. */
typedef struct kiln_module {
    const char *name; /* "sm90/softmax" */
    const unsigned char *image;
    const unsigned char *image_end; /* image: none was built */
    const char *sha256;             /* of the image, in hex */
} kiln_module;

typedef struct kiln_kernel {
    const char *symbol;
    const char *config;    /* "lanes=16 unroll=2" */
    const int64_t *values; /* of the config's fields, in their order */
    int32_t n_values;
    const kiln_recipe *recipe;
    kiln_cpu_kernel *cpu;      /* NULL on CUDA */
    double error;              /* worst seen, as a share of its limit */
    const kiln_module *module; /* where CUDA finds symbol; NULL on the cpu */
} kiln_kernel;

/* Bits of kiln_cell_run.state. */
#define KILN_CELL_STALE 1
#define KILN_CELL_FORCED 2

/* A cell is one key's place: its position on every axis. A run is cells next
 * to each other on axis 0, of one ladder or one census, that differ in nothing
 * else: most neighbours share their kernel. */
typedef struct kiln_cell_run {
    uint64_t first;  /* its first cell, packed: see KILN_CELL1 */
    uint16_t last;   /* the last cell's position on axis 0 */
    uint16_t kernel; /* index into the op's kernels */
    uint8_t state;
    uint8_t device; /* index into kiln_tier_table.devices: where timed */
} kiln_cell_run;

/* A position on an axis: a lattice bucket's index, or a census cell's index
 * with this bit. */
#define KILN_CENSUS_BIT 0x8000

/* A cell packed: axis 0 in the lowest 16 bits, so that a run's cells are
 * consecutive numbers. */
#define KILN_CELL1(a) ((uint64_t)(a))
#define KILN_CELL2(a, b) (KILN_CELL1(a) | (uint64_t)(b) << 16)
#define KILN_CELL3(a, b, c) (KILN_CELL2(a, b) | (uint64_t)(c) << 32)
#define KILN_CELL4(a, b, c, d) (KILN_CELL3(a, b, c) | (uint64_t)(d) << 48)
#define KILN_CELL_AXIS0 0xffff

/* Keys alike in all but sizes. `packed` holds variant, dtypes, baked
 * attributes and classes: see kiln_group_pack in key.h. Sorted by it. */
typedef struct kiln_group {
    const char *text; /* "softmax/looped f16 log=0 contiguous" */
    uint64_t packed;
    const kiln_cell_run *runs; /* sorted by first, none overlaps another */
    int32_t n_runs;
    const uint16_t *configs; /* its kernels: indices into the op's */
    int32_t n_configs;
} kiln_group;

typedef struct kiln_op_keys {
    const char *op;
    const kiln_group *groups;
    int32_t n_groups;
    const kiln_kernel *kernels;
    int32_t n_kernels;
} kiln_op_keys;

/* All certified keys of a tier and, on the cpu, an ISA. */
typedef struct kiln_tier_table {
    const char *tier;
    const char *isa; /* "" where the tier has none */
    const char *const *devices;
    int32_t n_devices;
    const kiln_op_keys *const *ops; /* in the order of kiln_tables.ops; NULL
                                       where an op has no keys */
    int32_t n_ops;
} kiln_tier_table;

typedef struct kiln_tables {
    int32_t layout; /* KILN_TABLE_LAYOUT */
    const kiln_ladder *ladders;
    int32_t n_ladders;
    const char *const *arch_fields;
    int32_t n_arch_fields;
    const kiln_arch *archs;
    int32_t n_archs;
    const kiln_op *const *ops; /* sorted by name */
    int32_t n_ops;
    const kiln_tier_table *const *tiers;
    int32_t n_tiers;
} kiln_tables;

#endif /* KILN_CORE_TABLES_H */
