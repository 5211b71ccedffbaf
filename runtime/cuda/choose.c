#include "choose.h"

#include <string.h>

#define SHARED_FIELD "shared_bytes"

static bool is_cuda(const kiln_arch *arch)
{
    return arch->capability > 0;
}

bool kiln_cuda_has_tables(const kiln_tables *tables)
{
    for (int32_t i = 0; i < tables->n_archs; i++) {
        if (is_cuda(&tables->archs[i])) {
            return true;
        }
    }
    return false;
}

/* Shared bytes that the profile's kernels may take a block. */
static int64_t shared_of(const kiln_tables *tables, const kiln_arch *arch)
{
    for (int32_t i = 0; i < tables->n_arch_fields && i < arch->n_fields; i++) {
        if (strcmp(tables->arch_fields[i], SHARED_FIELD) == 0) {
            return arch->fields[i];
        }
    }
    return 0;
}

/* --- candidates ----------------------------------------------------------- */

/* How an arch fits a device, best last. */
typedef enum fit {
    FIT_NONE = 0, /* the device cannot hold it */
    FIT_FORCED,   /* of an older class */
    FIT_CLASS,
    FIT_CHIP
} fit;

static fit fit_of(const kiln_tables *tables, const kiln_arch *arch,
                  const kiln_cuda_facts *facts)
{
    if (!is_cuda(arch) || arch->capability > facts->capability ||
        shared_of(tables, arch) > facts->shared_bytes) {
        return FIT_NONE;
    }
    if (strcmp(arch->chip, facts->name) == 0) {
        return FIT_CHIP;
    }
    return arch->capability / 10 == facts->capability / 10 ? FIT_CLASS
                                                           : FIT_FORCED;
}

static bool is_better(const kiln_tables *tables, const kiln_arch *a,
                      const kiln_arch *b)
{
    if (a->capability != b->capability) {
        return a->capability > b->capability;
    }
    return shared_of(tables, a) > shared_of(tables, b);
}

/* The best arch, of tier where that is given, that fits at least so well;
 * NULL: none. The first of equals. */
static const kiln_arch *find_best(const kiln_tables *tables,
                                  const kiln_cuda_facts *facts,
                                  const char *tier, fit least)
{
    const kiln_arch *best = NULL;

    for (int32_t i = 0; i < tables->n_archs; i++) {
        const kiln_arch *arch = &tables->archs[i];
        const fit fits = fit_of(tables, arch, facts);

        if (fits < least || (tier != NULL && strcmp(arch->tier, tier) != 0)) {
            continue;
        }
        if (best == NULL || fits > least || is_better(tables, arch, best)) {
            best = arch;
            least = fits;
        }
    }
    return best;
}

/* --- refusals ------------------------------------------------------------- */

static void add_profiles(const kiln_tables *tables, kiln_error *err)
{
    for (int32_t i = 0; i < tables->n_archs; i++) {
        const kiln_arch *arch = &tables->archs[i];

        if (is_cuda(arch)) {
            kiln_fail_more(err, " %s (%s, capability %d.%d, %lld bytes)",
                           arch->name, arch->tier, (int)arch->capability / 10,
                           (int)arch->capability % 10,
                           (long long)shared_of(tables, arch));
        }
    }
}

static void add_device(const kiln_cuda_facts *facts, kiln_error *err)
{
    kiln_fail_more(err,
                   "%s has capability %d.%d and %lld bytes of shared "
                   "memory a block",
                   facts->name, (int)facts->capability / 10,
                   (int)facts->capability % 10, (long long)facts->shared_bytes);
}

static kiln_status fail_class(const kiln_tables *tables,
                              const kiln_cuda_facts *facts, kiln_error *err)
{
    kiln_fail(err, KILN_DEVICE_ERROR, "no profile fits this device: ");
    add_device(facts, err);
    kiln_fail_more(err, "; this library holds");
    add_profiles(tables, err);
    return err->status;
}

static kiln_status fail_name(const kiln_tables *tables, const char *option,
                             const char *name, kiln_error *err)
{
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "option %s: no \"%s\" for a cuda device; this library holds",
              option, name);
    add_profiles(tables, err);
    return err->status;
}

static kiln_status fail_fit(const kiln_tables *tables,
                            const kiln_cuda_facts *facts, const char *option,
                            const kiln_arch *arch, kiln_error *err)
{
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "option %s: profile %s of tier %s wants capability %d.%d and "
              "%lld bytes; ",
              option, arch->name, arch->tier, (int)arch->capability / 10,
              (int)arch->capability % 10, (long long)shared_of(tables, arch));
    add_device(facts, err);
    return err->status;
}

/* --- options -------------------------------------------------------------- */

/* The first arch of that tier (NULL: any) and name (NULL: any). */
static const kiln_arch *find_named(const kiln_tables *tables, const char *tier,
                                   const char *name)
{
    for (int32_t i = 0; i < tables->n_archs; i++) {
        const kiln_arch *arch = &tables->archs[i];

        if (is_cuda(arch) && (tier == NULL || strcmp(arch->tier, tier) == 0) &&
            (name == NULL || strcmp(arch->name, name) == 0)) {
            return arch;
        }
    }
    return NULL;
}

static kiln_status choose_profile(const kiln_tables *tables,
                                  const kiln_cuda_facts *facts,
                                  const char *tier, const char *profile,
                                  const kiln_arch **arch, kiln_error *err)
{
    *arch = find_named(tables, NULL, profile);
    if (*arch == NULL) {
        return fail_name(tables, "profile", profile, err);
    }
    if (tier != NULL && strcmp((*arch)->tier, tier) != 0) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "option profile: %s is of tier %s, option tier says "
                         "%s",
                         profile, (*arch)->tier, tier);
    }
    return fit_of(tables, *arch, facts) != FIT_NONE
               ? KILN_OK
               : fail_fit(tables, facts, "profile", *arch, err);
}

static kiln_status choose_tier(const kiln_tables *tables,
                               const kiln_cuda_facts *facts, const char *tier,
                               const kiln_arch **arch, kiln_error *err)
{
    const kiln_arch *any = find_named(tables, tier, NULL);

    if (any == NULL) {
        return fail_name(tables, "tier", tier, err);
    }
    *arch = find_best(tables, facts, tier, FIT_FORCED);
    return *arch != NULL ? KILN_OK : fail_fit(tables, facts, "tier", any, err);
}

/* --- tables --------------------------------------------------------------- */

static kiln_status find_table(const kiln_tables *tables, const kiln_arch *arch,
                              const kiln_tier_table **table, kiln_error *err)
{
    for (int32_t i = 0; i < tables->n_tiers; i++) {
        if (strcmp(tables->tiers[i]->tier, arch->tier) == 0) {
            *table = tables->tiers[i];
            return KILN_OK;
        }
    }
    kiln_fail(err, KILN_DEVICE_ERROR,
              "tier %s of profile %s is not built into this library; it "
              "holds:",
              arch->tier, arch->name);
    for (int32_t i = 0; i < tables->n_tiers; i++) {
        if (i == 0 ||
            strcmp(tables->tiers[i]->tier, tables->tiers[i - 1]->tier) != 0) {
            kiln_fail_more(err, " %s", tables->tiers[i]->tier);
        }
    }
    return err->status;
}

kiln_status kiln_cuda_choose(const kiln_tables *tables,
                             const kiln_cuda_facts *facts, const char *tier,
                             const char *profile, kiln_cuda_choice *choice,
                             kiln_error *err)
{
    const kiln_arch *own = find_best(tables, facts, NULL, FIT_CLASS);
    const kiln_arch *arch = own;
    kiln_status status = KILN_OK;

    if (profile != NULL) {
        status = choose_profile(tables, facts, tier, profile, &arch, err);
    } else if (tier != NULL) {
        status = choose_tier(tables, facts, tier, &arch, err);
    } else if (own == NULL) {
        status = fail_class(tables, facts, err);
    }
    if (status != KILN_OK) {
        return status;
    }
    choice->arch = arch;
    choice->forced = arch != own;
    return find_table(tables, arch, &choice->table, err);
}
