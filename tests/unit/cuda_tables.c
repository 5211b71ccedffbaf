#include "cuda_tables.h"

#include <string.h>

#include "core/expr.h"
#include "core/plan.h"

#define COUNT(a) (int32_t)(sizeof(a) / sizeof *(a))
#define N_TIERS 2
#define N_OPS 4
#define N_KERNELS 4

static const kiln_ins threads_code[] = {{KILN_X_INT, 0, CUDA_THREADS, 0}};
static const kiln_ins many_code[] = {{KILN_X_INT, 0, 2000, 0}};
static const kiln_ins shared_code[] = {{KILN_X_INT, 0, CUDA_SHARED, 0}};
static const kiln_ins more_code[] = {{KILN_X_INT, 0, CUDA_SHARED_MORE, 0}};
static const kiln_ins cluster_code[] = {{KILN_X_INT, 0, CUDA_CLUSTER, 0}};
static const kiln_ins huge_code[] = {{KILN_X_LET, 0, 0, 0},
                                     {KILN_X_LET, 0, 1, 0},
                                     {KILN_X_MUL, 0, 0, 0},
                                     {KILN_X_INT, 0, 1000000, 0},
                                     {KILN_X_MUL, 0, 0, 0}};

static const kiln_expr threads = {"threads", threads_code, 1};
static const kiln_expr many = {"2000", many_code, 1};
static const kiln_expr shared = {"shared", shared_code, 1};
static const kiln_expr more = {"more", more_code, 1};
static const kiln_expr cluster = {"16", cluster_code, 1};
static const kiln_expr huge = {"rows * row * 1000000", huge_code, 5};

/* That of the module's bytes is from sha256sum. */
#define CUDA_IMAGE_SHA256                                                      \
    "d0766236c56a4890ba42710c17bbf3a2d4d66d918631c13a7ea3d5673465a7b7"

static unsigned char image[] = "an image";
static const kiln_module modules[N_TIERS] = {
    {"sm80/all", image, image, ""},
    {"sm90/all", image, image + sizeof image, CUDA_IMAGE_SHA256},
};

static kiln_slot axpy_slots[16];
static kiln_recipe recipes[2 * N_KERNELS];
static kiln_kernel kernels[N_TIERS][N_OPS][N_KERNELS];
static kiln_op_keys keys[N_TIERS][N_OPS];
static const kiln_op_keys *key_lists[N_TIERS][N_OPS];
static const char *const devices[] = {"NVIDIA H200"};
static kiln_tier_table tiers[N_TIERS];
static const kiln_tier_table *tier_list[N_TIERS + 1];
static kiln_tables tables;

static const char *const fields[] = {"shared_bytes"};
static const int64_t sizes[] = {232448, 166912, 101376, 65536, 0};
static const kiln_arch archs[] = {
    {"a100", "sm80", 0, &sizes[1], 1, "", 80},
    {"h100", "sm90", 0, &sizes[0], 1, "NVIDIA H100 80GB HBM3", 90},
    {"h200", "sm90", KILN_CLASS_ALIGN, &sizes[0], 1, "NVIDIA H200", 90},
    {"plain", "cpu", 0, &sizes[4], 1, "", 0},
    {"rtx30", "sm80", 0, &sizes[2], 1, "", 86},
    {"t4", "sm75", 0, &sizes[3], 1, "Tesla T4", 75},
};

static void change_recipe(kiln_recipe *recipe, const char *symbol)
{
    recipe->threads = threads;
    if (strcmp(symbol, "scale_map_f32_b2") == 0) {
        recipe->units = huge;
        recipe->shared = more;
    } else if (strcmp(symbol, "scale_map_f64_b1") == 0) {
        recipe->threads = many;
    } else if (strcmp(symbol, "axpy_map_f32_b1") == 0) {
        memcpy(axpy_slots, recipe->slots,
               (size_t)recipe->n_slots * sizeof *axpy_slots);
        axpy_slots[recipe->n_slots] =
            (kiln_slot){KILN_SLOT_FAULT, 0, {"", NULL, 0}};
        recipe->slots = axpy_slots;
        recipe->n_slots++;
        recipe->shared = shared;
        recipe->cluster = cluster;
    }
}

/* The cpu's kernels of one op with what CUDA adds. */
static void fill_op(int tier, int op, const kiln_op_keys *cpu, int *n_recipes)
{
    for (int32_t k = 0; k < cpu->n_kernels; k++) {
        kiln_kernel *kernel = &kernels[tier][op][k];
        kiln_recipe *recipe = &recipes[*n_recipes + k];

        *kernel = cpu->kernels[k];
        *recipe = *kernel->recipe;
        change_recipe(recipe, kernel->symbol);
        kernel->recipe = recipe;
        kernel->cpu = NULL;
        kernel->module = &modules[tier];
    }
    *n_recipes += cpu->n_kernels;
    keys[tier][op] = *cpu;
    keys[tier][op].kernels = kernels[tier][op];
    key_lists[tier][op] = &keys[tier][op];
}

static void fill_tier(int tier, const char *name, const kiln_tier_table *cpu)
{
    int n_recipes = tier * N_KERNELS;

    for (int op = 0; op < N_OPS; op++) {
        if (cpu->ops[op] != NULL) {
            fill_op(tier, op, cpu->ops[op], &n_recipes);
        }
    }
    tiers[tier] =
        (kiln_tier_table){name, "", devices, 1, key_lists[tier], N_OPS};
    tier_list[1 + tier] = &tiers[tier];
}

const kiln_tables *cuda_tables(void)
{
    const kiln_tier_table *cpu = kiln_generated_tables.tiers[1];

    if (tables.n_archs > 0) {
        return &tables;
    }
    fixture_tables_init();
    tables = kiln_generated_tables;
    tables.arch_fields = fields;
    tables.n_arch_fields = COUNT(fields);
    tables.archs = archs;
    tables.n_archs = COUNT(archs);
    tier_list[0] = cpu;
    fill_tier(0, "sm80", cpu);
    fill_tier(1, "sm90", cpu);
    tables.tiers = tier_list;
    tables.n_tiers = COUNT(tier_list);
    return &tables;
}

DLTensor cuda_vector(void *data, kiln_dtype dtype, int64_t *size)
{
    DLTensor tensor = fixture_vector(data, dtype, size);

    tensor.device = (DLDevice){kDLCUDA, 0};
    return tensor;
}

void cuda_tables_damage(bool damaged)
{
    image[0] = damaged ? 'A' : 'a';
}
