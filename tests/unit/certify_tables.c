#include "certify_tables.h"

#include <math.h>
#include <stdlib.h>

#include "core/expr.h"
#include "core/key.h"
#include "core/space.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

/* --- kernels -------------------------------------------------------------- */

typedef struct tensor_args {
    float *data;
    int64_t stride[KILN_MAX_RANK];
    int64_t row_stride;
} tensor_args;

typedef struct map_args {
    int64_t rank;
    int64_t size[KILN_MAX_RANK];
    int64_t row_size;
    tensor_args x;
    tensor_args y;
} map_args;

static int64_t total(const map_args *a)
{
    int64_t n = a->row_size;
    for (int64_t d = 0; d < a->rank; d++)
        n *= a->size[d];
    return n;
}

static float *at(const map_args *a, const tensor_args *t, int64_t unit)
{
    int64_t row = unit / a->row_size;
    int64_t place = unit % a->row_size * t->row_stride;
    for (int64_t d = a->rank - 1; d >= 0; d--) {
        place += row % a->size[d] * t->stride[d];
        row /= a->size[d];
    }
    return t->data + place;
}

static float relu(float x)
{
    return x < 0 ? 0 : x;
}

static float next_up(float x)
{
    return x > 0 && x < 1e30f ? nextafterf(x, INFINITY) : x;
}

static void right(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    for (int64_t u = first; u < last; u++)
        *at(a, &a->y, u) = relu(*at(a, &a->x, u));
}

static void zeros(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    for (int64_t u = first; u < last; u++)
        *at(a, &a->y, u) = 0;
}

static void drops_nan(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    for (int64_t u = first; u < last; u++)
        *at(a, &a->y, u) = fmaxf(0, *at(a, &a->x, u));
}

static void drops_tail(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    right(args, first, last == total(a) ? last - 1 : last);
}

static void writes_on(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    right(args, first, last);
    if (last == total(a))
        at(a, &a->y, last - 1)[1] = 0;
}

static void reads_on(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    right(args, first, last);
    volatile float beyond = at(a, &a->x, last - 1)[1];
    (void)beyond;
}

static void reads_output(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    for (int64_t u = first; u < last; u++) {
        float old = *at(a, &a->y, u);
        float x = relu(*at(a, &a->x, u));
        *at(a, &a->y, u) = isnan(old) ? x : next_up(x);
    }
}

/* Its result depends on how work is cut. */
static void knows_cuts(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    right(args, first, last);
    if (last - first < total(a))
        for (int64_t u = first; u < last; u++)
            *at(a, &a->y, u) = next_up(*at(a, &a->y, u));
}

static void writes_input(const void *args, int64_t first, int64_t last)
{
    const map_args *a = args;
    right(args, first, last);
    for (int64_t u = first; u < last; u++)
        if (*at(a, &a->x, u) < 0)
            *at(a, &a->x, u) = -1;
}

/* y = a + alpha * b of rows one after another. */
typedef struct sum_args {
    int64_t row_size;
    const float *a;
    const float *b;
    float *y;
    double alpha;
} sum_args;

static void sums(const void *args, int64_t first, int64_t last)
{
    const sum_args *s = args;
    for (int64_t u = first; u < last; u++)
        s->y[u] = fmaf((float)s->alpha, s->b[u], s->a[u]);
}

static void rounds_product(const void *args, int64_t first, int64_t last)
{
    const sum_args *s = args;
    for (int64_t u = first; u < last; u++)
        s->y[u] = s->a[u] + (float)s->alpha * s->b[u];
}

static void keeps_alpha(const void *args, int64_t first, int64_t last)
{
    const sum_args *s = args;
    for (int64_t u = first; u < last; u++)
        s->y[u] = (float)fma(s->alpha, (double)s->b[u], (double)s->a[u]);
}

/* --- tables --------------------------------------------------------------- */

#define NO_EXPR                                                                \
    {                                                                          \
        "", NULL, 0                                                            \
    }
#define EXPR(words, code)                                                      \
    {                                                                          \
        words, code, COUNT(code)                                               \
    }

static const kiln_ins numel_code[] = {{KILN_X_TENSOR, 0, 0, 0},
                                      {KILN_X_NUMEL, 0, 0, 0}};
static const kiln_ins units_code[] = {
    {KILN_X_LET, 0, 0, 0}, {KILN_X_LET, 0, 1, 0}, {KILN_X_MUL, 0, 0, 0}};
static const kiln_ins one_code[] = {{KILN_X_INT, 0, 1, 0}};

/* ORDER: struct map_args. */
static const kiln_slot slots[] = {
    {KILN_SLOT_RANK, 0, NO_EXPR},       {KILN_SLOT_SIZE, 0, NO_EXPR},
    {KILN_SLOT_ROW_SIZE, 0, NO_EXPR},   {KILN_SLOT_DATA, 0, NO_EXPR},
    {KILN_SLOT_STRIDE, 0, NO_EXPR},     {KILN_SLOT_ROW_STRIDE, 0, NO_EXPR},
    {KILN_SLOT_DATA, 1, NO_EXPR},       {KILN_SLOT_STRIDE, 1, NO_EXPR},
    {KILN_SLOT_ROW_STRIDE, 1, NO_EXPR},
};
static const kiln_recipe recipe = {
    .slots = slots,
    .n_slots = COUNT(slots),
    .units = EXPR("rows * row", units_code),
    .grain = EXPR("1", one_code),
};
static const kiln_ins alpha_code[] = {{KILN_X_ATTR, 0, 0, 0}};
/* ORDER: struct sum_args. */
static const kiln_slot sum_slots[] = {
    {KILN_SLOT_ROW_SIZE, 0, NO_EXPR},
    {KILN_SLOT_DATA, 0, NO_EXPR},
    {KILN_SLOT_DATA, 1, NO_EXPR},
    {KILN_SLOT_DATA, 2, NO_EXPR},
    {KILN_SLOT_FLOAT, 0, EXPR("alpha", alpha_code)},
};
static const kiln_recipe sum_recipe = {
    .slots = sum_slots,
    .n_slots = COUNT(sum_slots),
    .units = EXPR("rows * row", units_code),
    .grain = EXPR("1", one_code),
};
static const int64_t values[] = {0};

#define KERNEL_OF(recipe, fn)                                                  \
    {                                                                          \
#fn, "is=" #fn, values, 1, &recipe, fn, 0, NULL                        \
    }
#define KERNEL(fn) KERNEL_OF(recipe, fn)

/* CUDA: one block of one thread an element. */
static const kiln_recipe cuda_recipe = {
    .slots = slots,
    .n_slots = COUNT(slots),
    .units = EXPR("rows * row", units_code),
    .threads = EXPR("1", one_code),
};
static const unsigned char image[] = "kiln-emu:\n"; /* the program itself */
static const kiln_module module = {
    "all", image, image + sizeof image,
    "d01bf34eacd57240098c3d6e57aa7130ba871f4a6301407b4e497b219f40ec21"};

#define CUDA_KERNEL(fn)                                                        \
    {                                                                          \
        "cuda_" #fn, "is=" #fn, values, 1, &cuda_recipe, NULL, 0, &module      \
    }

static const kiln_kernel cuda_kernels[] = {
    CUDA_KERNEL(right),         CUDA_KERNEL(zeros),
    CUDA_KERNEL(drops_tail),    CUDA_KERNEL(writes_on),
    CUDA_KERNEL(writes_before), CUDA_KERNEL(reads_output),
    CUDA_KERNEL(writes_input),  CUDA_KERNEL(remembers),
    CUDA_KERNEL(tires),         CUDA_KERNEL(crashes),
    CUDA_KERNEL(aborts),        CUDA_KERNEL(slow),
};
static const uint16_t cuda_configs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static const kiln_kernel kernels[] = {
    KERNEL(right),        KERNEL(zeros),      KERNEL(drops_nan),
    KERNEL(drops_tail),   KERNEL(writes_on),  KERNEL(reads_on),
    KERNEL(reads_output), KERNEL(knows_cuts), KERNEL(writes_input),
};
static const uint16_t configs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static const kiln_kernel sum_kernels[] = {
    KERNEL_OF(sum_recipe, sums),
    KERNEL_OF(sum_recipe, rounds_product),
    KERNEL_OF(sum_recipe, keeps_alpha),
};

static const kiln_op_tensor tensors[] = {
    {.name = "x", .role = KILN_IN, .keyed = 1, .dtypes = 1u << KILN_F32},
    {.name = "y",
     .role = KILN_OUT,
     .like = 1,
     .shape_rule = KILN_SHAPE_BROADCAST},
};
static const kiln_axis axes[] = {{"n", 0, EXPR("numel(x)", numel_code)}};
static const kiln_route routes[] = {{.name = "map"}};
static const kiln_op relu_op = {
    .name = "relu",
    .spec = "spec/op/relu.yaml",
    .tensors = tensors,
    .n_tensors = 2,
    .routes = routes,
    .n_routes = 1,
    .space = KILN_SPACE_BROADCAST,
    .axes = axes,
    .n_axes = 1,
};

static const kiln_op_tensor sum_tensors[] = {
    {.name = "a", .role = KILN_IN, .keyed = 1, .dtypes = 1u << KILN_F32},
    {.name = "b", .role = KILN_IN, .keyed = 1, .dtypes = 1u << KILN_F32},
    {.name = "y",
     .role = KILN_OUT,
     .like = 1,
     .shape_rule = KILN_SHAPE_BROADCAST},
};
static const kiln_op_attr sum_attrs[] = {
    {.name = "alpha", .type = KILN_TYPE_FLOAT, .f = 1}};
static const kiln_axis sum_axes[] = {{"n", 0, EXPR("numel(a)", numel_code)}};
static const kiln_op add_op = {
    .name = "add",
    .spec = "spec/op/add.yaml",
    .tensors = sum_tensors,
    .n_tensors = 3,
    .attrs = sum_attrs,
    .n_attrs = 1,
    .routes = routes,
    .n_routes = 1,
    .space = KILN_SPACE_BROADCAST,
    .axes = sum_axes,
    .n_axes = 1,
};

static const int64_t edges[] = {64, 100000};
static const kiln_ladder ladders[] = {{"n", edges, COUNT(edges), NULL, 0}};
static const kiln_cell_run runs[] = {{KILN_CELL1(0), 1, 0, 0, 0}};
static kiln_group groups[3];
static kiln_group cuda_groups[3];
static kiln_group sum_group;
static kiln_op_keys sum_keys = {"add", &sum_group, 1, sum_kernels,
                                COUNT(sum_kernels)};
static kiln_op_keys keys = {"relu", groups, 3, kernels, COUNT(kernels)};
static kiln_op_keys cuda_keys = {"relu", cuda_groups, 3, cuda_kernels,
                                 COUNT(cuda_kernels)};

static const kiln_op *const ops[] = {&add_op, &relu_op};
static const kiln_op_keys *const op_keys[] = {&sum_keys, &keys};
static const kiln_op_keys *const cuda_op_keys[] = {NULL, &cuda_keys};
static const char *const devices[] = {"Some Device"};
static const kiln_tier_table base = {"cpu", "base", devices, 1, op_keys, 2};
static const kiln_tier_table sm80 = {"sm80", "", devices, 1, cuda_op_keys, 2};
static const kiln_tier_table sm90 = {"sm90", "", devices, 1, cuda_op_keys, 2};
static const kiln_tier_table *const tiers[] = {&base, &sm80, &sm90};
static const kiln_arch archs[] = {
    {"a100", "sm80", 0, NULL, 0, "", 80},
    {"cpu", "cpu", 0, NULL, 0, "", 0},
    {"h200", "sm90", 0, NULL, 0, "NVIDIA H200", 90},
};

const kiln_tables kiln_generated_tables = {
    .layout = KILN_TABLE_LAYOUT,
    .ladders = ladders,
    .n_ladders = 1,
    .archs = archs,
    .n_archs = COUNT(archs),
    .ops = ops,
    .n_ops = COUNT(ops),
    .tiers = tiers,
    .n_tiers = COUNT(tiers),
};

static int by_packed(const void *a, const void *b)
{
    uint64_t pa = ((const kiln_group *)a)->packed;
    uint64_t pb = ((const kiln_group *)b)->packed;
    return (pa > pb) - (pa < pb);
}

static bool fill_group(kiln_group *group, const kiln_op *op, int layout,
                       const uint16_t *list, int n)
{
    static char texts[4][KILN_KEY_TEXT];
    static int used;
    kiln_key key = {.op = op, .layout = (uint8_t)layout};
    char *text = texts[used++ % COUNT(texts)];
    for (int i = 0; i < op->n_tensors; i++)
        key.dtypes[i] = KILN_F32;
    if (!kiln_group_pack(&key, &group->packed))
        return false;
    kiln_group_text(&key, text, KILN_KEY_TEXT);
    group->text = text;
    group->runs = runs;
    group->n_runs = COUNT(runs);
    group->configs = list;
    group->n_configs = n;
    return true;
}

int certify_tables_init(void **state)
{
    (void)state;
    if (!fill_group(&sum_group, &add_op, KILN_CONTIGUOUS, configs,
                    COUNT(sum_kernels)))
        return 1;
    for (int layout = KILN_CONTIGUOUS; layout <= KILN_GENERAL; layout++) {
        if (!fill_group(&groups[layout], &relu_op, layout, configs,
                        COUNT(configs)))
            return 1;
        cuda_groups[layout] = groups[layout];
        cuda_groups[layout].configs = cuda_configs;
        cuda_groups[layout].n_configs = COUNT(cuda_configs);
    }
    qsort(groups, 3, sizeof *groups, by_packed);
    qsort(cuda_groups, 3, sizeof *cuda_groups, by_packed);
    return 0;
}
