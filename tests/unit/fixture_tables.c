#include "fixture_tables.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/expr.h"
#include "core/key.h"
#include "core/space.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))
#define CODE(words, ...)                                                       \
    {                                                                          \
        words, (const kiln_ins[]){__VA_ARGS__},                                \
            (int32_t)(sizeof((const kiln_ins[]){__VA_ARGS__}) /                \
                      sizeof(kiln_ins))                                        \
    }
#define INT(v)                                                                 \
    {                                                                          \
        KILN_X_INT, 0, v, 0                                                    \
    }
#define TENSOR(t)                                                              \
    {                                                                          \
        KILN_X_TENSOR, 0, t, 0                                                 \
    }
#define ATTR(a)                                                                \
    {                                                                          \
        KILN_X_ATTR, 0, a, 0                                                   \
    }
#define LET(n)                                                                 \
    {                                                                          \
        KILN_X_LET, 0, n, 0                                                    \
    }
#define ABSENT                                                                 \
    {                                                                          \
        "", NULL, 0                                                            \
    }
#define F32 (1u << KILN_F32)
#define F64 (1u << KILN_F64)

/* --- kernels -------------------------------------------------------------- */

typedef struct tensor_args {
    char *data;
    int64_t stride[KILN_MAX_RANK];
    int64_t row_stride;
} tensor_args;

typedef struct map_args {
    int64_t rank;
    int64_t size[KILN_MAX_RANK];
    int64_t row_size;
    double alpha;
    tensor_args t[3]; /* x, y, bias; axpy has no bias */
} map_args;

/* Element number of unit u in tensor t. */
static int64_t place(const map_args *args, const tensor_args *t, int64_t u)
{
    int64_t row = u / args->row_size;
    int64_t at = u % args->row_size * t->row_stride;

    for (int64_t d = args->rank - 1; d >= 0; d--) {
        at += row % args->size[d] * t->stride[d];
        row /= args->size[d];
    }
    return at;
}

static void scale_f32(const void *packed, int64_t first, int64_t last)
{
    const map_args *args = packed;
    const float *x = (const void *)args->t[0].data;
    const float *bias = (const void *)args->t[2].data;
    float *y = (void *)args->t[1].data;

    for (int64_t u = first; u < last; u++) {
        float v = (float)args->alpha * x[place(args, &args->t[0], u)];

        if (bias != NULL) {
            v += bias[place(args, &args->t[2], u)];
        }
        y[place(args, &args->t[1], u)] = v;
    }
}

static void scale_f64(const void *packed, int64_t first, int64_t last)
{
    const map_args *args = packed;
    const double *x = (const void *)args->t[0].data;
    double *y = (void *)args->t[1].data;

    for (int64_t u = first; u < last; u++) {
        y[place(args, &args->t[1], u)] =
            args->alpha * x[place(args, &args->t[0], u)];
    }
}

static void axpy_f32(const void *packed, int64_t first, int64_t last)
{
    const map_args *args = packed;
    const float *x = (const void *)args->t[0].data;
    float *y = (void *)args->t[1].data;

    for (int64_t u = first; u < last; u++) {
        y[place(args, &args->t[1], u)] +=
            (float)args->alpha * x[place(args, &args->t[0], u)];
    }
}

/* ORDER: struct map_args. */
#define TENSOR_SLOTS(t)                                                        \
    {KILN_SLOT_DATA, t, ABSENT}, {KILN_SLOT_STRIDE, t, ABSENT},                \
    {                                                                          \
        KILN_SLOT_ROW_STRIDE, t, ABSENT                                        \
    }

static const kiln_slot slots[] = {
    {KILN_SLOT_RANK, 0, ABSENT},
    {KILN_SLOT_SIZE, 0, ABSENT},
    {KILN_SLOT_ROW_SIZE, 0, ABSENT},
    {KILN_SLOT_FLOAT, 0, CODE("alpha", ATTR(0))},
    TENSOR_SLOTS(0),
    TENSOR_SLOTS(1),
    TENSOR_SLOTS(2),
};

#define UNITS CODE("rows * row", LET(0), LET(1), {KILN_X_MUL, 0, 0, 0})

static const kiln_recipe scale_recipe = {
    slots,  COUNT(slots), UNITS, CODE("grain", INT(FIXTURE_GRAIN)),
    ABSENT, ABSENT,       ABSENT};
static const kiln_recipe axpy_recipe = {
    slots,  COUNT(slots) - 3, UNITS, CODE("grain", INT(FIXTURE_GRAIN)),
    ABSENT, ABSENT,           ABSENT};

static const int64_t config_values[] = {1, 2};

static const kiln_kernel scale_kernels[] = {
    {"scale_map_f32_b1", "block=1", &config_values[0], 1, &scale_recipe,
     scale_f32, 0.25, NULL},
    {"scale_map_f32_b2", "block=2", &config_values[1], 1, &scale_recipe,
     scale_f32, 0.5, NULL},
    {"scale_map_f64_b1", "block=1", &config_values[0], 1, &scale_recipe,
     scale_f64, 0.0, NULL},
};
static const kiln_kernel axpy_kernels[] = {
    {"axpy_map_f32_b1", "block=1", &config_values[0], 1, &axpy_recipe, axpy_f32,
     0.75, NULL},
};

#define NUMEL_X CODE("numel(x)", TENSOR(0), {KILN_X_NUMEL, 0, 0, 0})

/* --- ops ------------------------------------------------------------------ */

static const kiln_op_attr alpha[] = {
    {.name = "alpha", .type = KILN_TYPE_FLOAT, .f = 2.0}};

static const kiln_axis axes[] = {{"N", 0, NUMEL_X}};

static const kiln_op_tensor scale_tensors[] = {
    {.name = "x", .role = KILN_IN, .keyed = 1, .dtypes = F32 | F64},
    {.name = "y",
     .role = KILN_OUT,
     .like = 1,
     .shape_rule = KILN_SHAPE_BROADCAST},
    {.name = "bias", .role = KILN_IN, .optional = 1, .like = 1},
};
static const kiln_route scale_routes[] = {
    {.name = "small",
     .when = CODE("numel(x) <= 64", TENSOR(0), {KILN_X_NUMEL, 0, 0, 0},
                  INT(FIXTURE_SMALL), {KILN_X_LE, 0, 0, 0})},
    {.name = "map"},
};
static const kiln_op scale = {
    .name = "scale",
    .spec = "spec/op/scale.yaml",
    .tensors = scale_tensors,
    .n_tensors = 3,
    .attrs = alpha,
    .n_attrs = 1,
    .routes = scale_routes,
    .n_routes = 2,
    .space = KILN_SPACE_BROADCAST,
    .row_dim = ABSENT,
    .in_place = 1,
    .axes = axes,
    .n_axes = 1,
    .flops = NUMEL_X,
};

static const kiln_op_tensor axpy_tensors[] = {
    {.name = "x", .role = KILN_IN, .keyed = 1, .dtypes = F32},
    {.name = "y", .role = KILN_INOUT, .like = 1, .shape_rule = KILN_SHAPE_LIKE},
};
static const kiln_route axpy_routes[] = {{.name = "map"}};
static const kiln_op axpy = {
    .name = "axpy",
    .spec = "spec/op/axpy.yaml",
    .tensors = axpy_tensors,
    .n_tensors = 2,
    .attrs = alpha,
    .n_attrs = 1,
    .routes = axpy_routes,
    .n_routes = 1,
    .space = KILN_SPACE_BROADCAST,
    .row_dim = ABSENT,
    .axes = axes,
    .n_axes = 1,
    .flops = NUMEL_X,
};

static const kiln_op_tensor step_tensors[] = {
    {.name = "x", .role = KILN_IN, .dtypes = F32},
    {.name = "y", .role = KILN_OUT, .like = 1, .shape_rule = KILN_SHAPE_LIKE},
};
static const kiln_expr step_shape[] = {
    CODE("size(x, 0)", TENSOR(0), INT(0), {KILN_X_SIZE, 0, 0, 0})};
static const kiln_temporary plain_t[] = {{"t", KILN_NONE, 0, 0, step_shape, 1}};
static const kiln_temporary zeroed_t[] = {
    {"t", KILN_NONE, 1, 0, step_shape, 1}};
/* Operands: x 0, y 1, temporary t 2. */
static const kiln_binding x_to_t[] = {{0, CODE("x", TENSOR(0))},
                                      {1, CODE("t", TENSOR(2))}};
static const kiln_binding t_to_y[] = {{0, CODE("t", TENSOR(2))},
                                      {1, CODE("y", TENSOR(1))}};
static const kiln_binding by_alpha[] = {{0, CODE("alpha", ATTR(0))}};
static const kiln_binding by_one[] = {{0, CODE("1", INT(1))}};

#define STEP(callee, operands, attributes)                                     \
    {                                                                          \
        .when = ABSENT, .op = callee, .tensors = operands, .n_tensors = 2,     \
        .attrs = attributes, .n_attrs = 1                                      \
    }
static const kiln_step twice_steps[] = {STEP("scale", x_to_t, by_alpha),
                                        STEP("scale", t_to_y, by_alpha)};
static const kiln_step grow_steps[] = {STEP("axpy", x_to_t, by_alpha),
                                       STEP("scale", t_to_y, by_one)};
static const kiln_route twice_routes[] = {
    {"steps", ABSENT, 1, plain_t, 1, twice_steps, 2}};
static const kiln_route grow_routes[] = {
    {"steps", ABSENT, 1, zeroed_t, 1, grow_steps, 2}};

static const kiln_op twice = {
    .name = "twice",
    .spec = "spec/op/twice.yaml",
    .tensors = step_tensors,
    .n_tensors = 2,
    .attrs = alpha,
    .n_attrs = 1,
    .routes = twice_routes,
    .n_routes = 1,
};
static const kiln_op grow = {
    .name = "grow",
    .spec = "spec/op/grow.yaml",
    .tensors = step_tensors,
    .n_tensors = 2,
    .attrs = alpha,
    .n_attrs = 1,
    .routes = grow_routes,
    .n_routes = 1,
};

/* --- keys ----------------------------------------------------------------- */

static const int64_t edges[] = {FIXTURE_SMALL, 4096, FIXTURE_SERVED,
                                FIXTURE_LARGEST};
static const kiln_ladder ladders[] = {{"numel", edges, COUNT(edges), NULL, 0}};

static const uint16_t f32_configs[] = {0, 1};
static const uint16_t f64_configs[] = {2};

static const kiln_cell_run f32_runs[] = {
    {KILN_CELL1(0), 2, 0, 0, 0},
    {KILN_CELL1(3), 3, 0, KILN_CELL_STALE, 0},
};
static const kiln_cell_run f64_runs[] = {
    {KILN_CELL1(0), 1, 2, KILN_CELL_FORCED, 0},
};

#define MAX_GROUPS 32

static kiln_group scale_groups[MAX_GROUPS];
static kiln_group axpy_groups[MAX_GROUPS];
static kiln_op_keys scale_keys = {"scale", scale_groups, 0, scale_kernels,
                                  COUNT(scale_kernels)};
static kiln_op_keys axpy_keys = {"axpy", axpy_groups, 0, axpy_kernels,
                                 COUNT(axpy_kernels)};

static int by_packed(const void *a, const void *b)
{
    uint64_t pa = ((const kiln_group *)a)->packed;
    uint64_t pb = ((const kiln_group *)b)->packed;

    return (pa > pb) - (pa < pb);
}

static void add_group(kiln_op_keys *keys, kiln_group *groups, kiln_key *key,
                      bool wide)
{
    static char texts[2 * MAX_GROUPS][KILN_KEY_TEXT];
    static int n_texts;
    kiln_group *group = &groups[keys->n_groups++];
    char *text = texts[n_texts++];

    if (!kiln_group_pack(key, &group->packed)) {
        abort();
    }
    kiln_group_text(key, text, KILN_KEY_TEXT);
    group->text = text;
    group->runs = wide ? f64_runs : f32_runs;
    group->n_runs = wide ? COUNT(f64_runs) : COUNT(f32_runs);
    group->configs = wide ? f64_configs : f32_configs;
    group->n_configs = wide ? COUNT(f64_configs) : COUNT(f32_configs);
    if (keys == &axpy_keys) {
        group->n_configs = 1;
    }
}

/* Every layout, without a class of alignment and with 16 bytes. */
static void add_groups(kiln_op_keys *keys, kiln_group *groups,
                       const kiln_op *op, int route, kiln_dtype dtype)
{
    for (int layout = KILN_CONTIGUOUS; layout <= KILN_GENERAL; layout++) {
        for (int aligned = 0; aligned < 2; aligned++) {
            kiln_key key = {.op = op, .route = route};

            key.layout = (uint8_t)layout;
            key.classes = aligned ? KILN_CLASS_ALIGN : 0;
            key.align_log2 = aligned ? 4 : 0;
            for (int t = 0; t < op->n_tensors; t++) {
                key.dtypes[t] = (uint8_t)dtype;
            }
            add_group(keys, groups, &key, dtype == KILN_F64);
        }
    }
}

void fixture_tables_init(void)
{
    if (scale_keys.n_groups > 0) {
        return;
    }
    for (int route = 0; route < 2; route++) {
        add_groups(&scale_keys, scale_groups, &scale, route, KILN_F32);
        add_groups(&scale_keys, scale_groups, &scale, route, KILN_F64);
    }
    add_groups(&axpy_keys, axpy_groups, &axpy, 0, KILN_F32);
    qsort(scale_groups, (size_t)scale_keys.n_groups, sizeof *scale_groups,
          by_packed);
    qsort(axpy_groups, (size_t)axpy_keys.n_groups, sizeof *axpy_groups,
          by_packed);
}

DLTensor fixture_vector(void *data, kiln_dtype dtype, int64_t *size)
{
    return (DLTensor){
        .data = data,
        .device = {kDLCPU, 0},
        .ndim = 1,
        .dtype = kiln_dtype_to_dlpack(dtype),
        .shape = size,
    };
}

/* --- the whole ------------------------------------------------------------ */

/* Sorted by name, as all lists that are searched. */
static const kiln_op *const ops[] = {&axpy, &grow, &scale, &twice};
static const kiln_op_keys *const op_keys[] = {&axpy_keys, NULL, &scale_keys,
                                              NULL};
static const char *const devices[] = {"Some Processor"};

static const kiln_tier_table avx2 = {"cpu", "avx2", devices, 1, op_keys, 4};
static const kiln_tier_table base = {"cpu", "base", devices, 1, op_keys, 4};
static const kiln_tier_table sm90 = {"sm90", "", devices, 1, NULL, 0};
static const kiln_tier_table *const tiers[] = {&avx2, &base, &sm90};

static const kiln_arch archs[] = {
    {"h200", "sm90", KILN_CLASS_ALIGN, NULL, 0, "", 0},
    {"plain", "cpu", 0, NULL, 0, "", 0},
    {"strict", "cpu", KILN_CLASS_ALIGN, NULL, 0, "", 0},
};

const kiln_tables kiln_generated_tables = {
    .layout = KILN_TABLE_LAYOUT,
    .ladders = ladders,
    .n_ladders = COUNT(ladders),
    .archs = archs,
    .n_archs = COUNT(archs),
    .ops = ops,
    .n_ops = COUNT(ops),
    .tiers = tiers,
    .n_tiers = COUNT(tiers),
};
