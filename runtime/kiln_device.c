#include "cuda/choose.h"
#include "internal.h"

#include <string.h>

#define CPU_TIER "cpu"

/* --- options -------------------------------------------------------------- */

static kiln_status check_options(const kiln_options *options, kiln_error *err)
{
    const kiln_allocator *allocator = options->allocator;

    if (options->threads < 0) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option threads: %d is negative; 0 takes one a "
                         "processor",
                         (int)options->threads);
    }
    if (options->workspace_limit < 0) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option workspace_limit: %lld is negative; 0 sets "
                         "none",
                         (long long)options->workspace_limit);
    }
    if (allocator != NULL &&
        (allocator->allocate == NULL || allocator->release == NULL)) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option allocator: allocate and release must both "
                         "be given");
    }
    return KILN_OK;
}

kiln_status kiln_read_options(const kiln_options *given, kiln_options *options,
                              kiln_error *err)
{
    memset(options, 0, sizeof *options);
    if (given == NULL) {
        return KILN_OK;
    }
    if (given->size == 0 || given->size > sizeof *options ||
        given->size % sizeof(size_t) != 0) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option size: %zu is not sizeof(kiln_options), which "
                         "is %zu in kiln %s; set it, and let header and "
                         "library be of one version",
                         given->size, sizeof *options, KILN_VERSION);
    }
    memcpy(options, given, given->size);
    return check_options(options, err);
}

/* --- the device ----------------------------------------------------------- */

static kiln_status refuse_type(const kiln_tables *tables, int type,
                               kiln_error *err)
{
    const char *name = type == kDLCUDA          ? " (kDLCUDA)"
                       : type == kDLCUDAHost    ? " (kDLCUDAHost)"
                       : type == kDLCUDAManaged ? " (kDLCUDAManaged)"
                                                : "";

    kiln_fail(err, KILN_DEVICE_ERROR,
              "device type %d%s: %s; it serves the cpu (kDLCPU, %d)", type,
              name,
              type == kDLCUDA ? "its tier is not built into this library"
                              : "this library has no contexts of that type",
              (int)kDLCPU);
    if (kiln_cuda_has_tables(tables)) {
        kiln_fail_more(err, " and CUDA devices (kDLCUDA, %d)", (int)kDLCUDA);
    }
    return err->status;
}

static kiln_status check_device(const kiln_tables *tables, DLDevice device,
                                kiln_error *err)
{
    if (device.device_type == kDLCUDA && kiln_cuda_has_tables(tables)) {
        return KILN_OK; /* its number is for the driver */
    }
    if (device.device_type != kDLCPU) {
        return refuse_type(tables, (int)device.device_type, err);
    }
    if (device.device_id != 0) {
        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "cpu device %d does not exist; device_id is 0",
                         (int)device.device_id);
    }
    return KILN_OK;
}

/* --- the cpu: tier, ISA, profile ------------------------------------------ */

static bool is_tier(const kiln_tables *tables, const char *name)
{
    for (int32_t i = 0; i < tables->n_tiers; i++) {
        if (strcmp(tables->tiers[i]->tier, name) == 0) {
            return true;
        }
    }
    return false;
}

static kiln_status check_tier(const kiln_tables *tables, const char *name,
                              kiln_error *err)
{
    const char *last = "";

    if (name == NULL || strcmp(name, CPU_TIER) == 0) {
        return KILN_OK;
    }
    if (is_tier(tables, name)) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option tier: %s does not run on a cpu device", name);
    }
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "option tier: unknown \"%s\"; known:", name);
    for (int32_t i = 0; i < tables->n_tiers; i++) {
        if (strcmp(tables->tiers[i]->tier, last) != 0) {
            last = tables->tiers[i]->tier;
            kiln_fail_more(err, " %s", last);
        }
    }
    return err->status;
}

static kiln_status check_isa(const char *isa, kiln_error *err)
{
    for (const char *const *known = kiln_cpu_isas; *known != NULL; known++) {
        if (strcmp(*known, isa) != 0) {
            continue;
        }
        if (kiln_cpu_has(isa)) {
            return KILN_OK;
        }
        return kiln_fail(err, KILN_DEVICE_ERROR,
                         "option isa: this processor does not run %s", isa);
    }
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "option isa: unknown \"%s\"; known:", isa);
    for (const char *const *known = kiln_cpu_isas; *known != NULL; known++) {
        kiln_fail_more(err, " %s", *known);
    }
    return err->status;
}

static const kiln_tier_table *find_table(const kiln_tables *tables,
                                         const char *isa)
{
    for (int32_t i = 0; i < tables->n_tiers; i++) {
        const kiln_tier_table *table = tables->tiers[i];

        if (strcmp(table->tier, CPU_TIER) == 0 &&
            strcmp(table->isa, isa) == 0) {
            return table;
        }
    }
    return NULL;
}

static const kiln_tier_table *find_best_table(const kiln_tables *tables)
{
    const kiln_tier_table *table = NULL;

    for (const char *const *isa = kiln_cpu_isas; *isa != NULL && table == NULL;
         isa++) {
        if (kiln_cpu_has(*isa)) {
            table = find_table(tables, *isa);
        }
    }
    return table;
}

static kiln_status choose_table(const kiln_tables *tables,
                                const kiln_options *options,
                                const kiln_tier_table **table, kiln_error *err)
{
    kiln_status status = check_tier(tables, options->tier, err);

    if (status == KILN_OK && options->isa != NULL) {
        status = check_isa(options->isa, err);
    }
    if (status != KILN_OK) {
        return status;
    }
    *table = options->isa != NULL ? find_table(tables, options->isa)
                                  : find_best_table(tables);
    if (*table != NULL) {
        return KILN_OK;
    }
    return kiln_fail(err, KILN_DEVICE_ERROR,
                     "this library holds no kernels of tier %s for isa %s; "
                     "build it with that tier's out/",
                     CPU_TIER,
                     options->isa != NULL ? options->isa : "base or better");
}

static kiln_status choose_arch(const kiln_tables *tables, const char *profile,
                               const kiln_arch **arch, kiln_error *err)
{
    for (int32_t i = 0; i < tables->n_archs; i++) {
        const kiln_arch *a = &tables->archs[i];

        if (strcmp(a->tier, CPU_TIER) == 0 &&
            (profile == NULL || strcmp(a->name, profile) == 0)) {
            *arch = a;
            return KILN_OK;
        }
    }
    if (profile == NULL) {
        return kiln_fail(err, KILN_INTERNAL,
                         "the tables hold no arch profile of tier %s",
                         CPU_TIER);
    }
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "option profile: no \"%s\" in tier %s; known:", profile,
              CPU_TIER);
    for (int32_t i = 0; i < tables->n_archs; i++) {
        if (strcmp(tables->archs[i].tier, CPU_TIER) == 0) {
            kiln_fail_more(err, " %s", tables->archs[i].name);
        }
    }
    return err->status;
}

static kiln_status choose_cpu(const kiln_tables *tables,
                              const kiln_options *options, kiln_choice *choice,
                              kiln_error *err)
{
    kiln_status status = choose_table(tables, options, &choice->tier, err);

    return status == KILN_OK
               ? choose_arch(tables, options->profile, &choice->arch, err)
               : status;
}

/* --- both ----------------------------------------------------------------- */

static kiln_status choose_cuda(const kiln_tables *tables, int device_id,
                               const kiln_options *options,
                               const kiln_cuda_driver *driver,
                               kiln_choice *choice, kiln_error *err)
{
    kiln_cuda_choice found;
    kiln_status status;

    if (options->isa != NULL) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option isa: \"%s\" is the cpu's; a cuda device has "
                         "none",
                         options->isa);
    }
    status = kiln_cuda_open(&choice->cuda, driver, device_id,
                            options->allocator, err);
    if (status != KILN_OK) {
        return status;
    }
    status = kiln_cuda_choose(tables, kiln_cuda_get_facts(choice->cuda),
                              options->tier, options->profile, &found, err);
    if (status != KILN_OK) {
        kiln_cuda_close(choice->cuda, false);
        return status;
    }
    choice->tier = found.table;
    choice->arch = found.arch;
    choice->forced = found.forced;
    return KILN_OK;
}

kiln_status kiln_choose_device(const kiln_tables *tables, DLDevice device,
                               const kiln_options *options,
                               const kiln_cuda_driver *driver,
                               kiln_choice *choice, kiln_error *err)
{
    kiln_status status = check_device(tables, device, err);

    *choice = (kiln_choice){NULL, NULL, false, NULL};
    if (status != KILN_OK) {
        return status;
    }
    return device.device_type == kDLCPU
               ? choose_cpu(tables, options, choice, err)
               : choose_cuda(tables, (int)device.device_id, options, driver,
                             choice, err);
}
