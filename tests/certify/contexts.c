#include "contexts.h"

#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "internal.h"

bool contexts_is_cuda(const char *tier)
{
    return strcmp(tier, "cpu") != 0;
}

DLDevice contexts_device(const char *tier)
{
    return (DLDevice){contexts_is_cuda(tier) ? kDLCUDA : kDLCPU, 0};
}

kiln_context *contexts_open(const char *tier, const char *isa,
                            const char *config, int threads, char *why,
                            size_t cap)
{
    const kiln_cuda_driver *driver = NULL;
    const char *missing = "";
    kiln_context *context = NULL;
    kiln_options options = {.size = sizeof options};
    options.tier = tier;
    options.isa = strcmp(isa, "-") == 0 ? NULL : isa;
    options.config = config;
    options.threads = threads;
    options.accept_forced = 1;
    if (contexts_is_cuda(tier) && !(driver = certify_driver(&missing))) {
        snprintf(why, cap, "%s", missing);
        return NULL;
    }
    if (kiln_context_create_on(&context, contexts_device(tier), &options,
                               &kiln_generated_tables, driver) == KILN_OK)
        return context;
    snprintf(why, cap, "%s", kiln_last_error());
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

kiln_context *contexts_get(contexts *c, const char *tier, const char *isa,
                           const char *config, char *why, size_t cap)
{
    for (int i = 0; i < c->n; i++) {
        const contexts_entry *e = &c->entries[i];
        if (same_text(e->tier, tier) && same_text(e->isa, isa) &&
            same_text(e->config, config))
            return e->context;
    }
    if (c->n == CONTEXTS_MOST) {
        snprintf(why, cap, "too many configs");
        return NULL;
    }
    kiln_context *context = contexts_open(tier, isa, config, 0, why, cap);
    if (context)
        c->entries[c->n++] = (contexts_entry){tier, isa, config, context};
    return context;
}

void contexts_close(contexts *c)
{
    for (int i = 0; i < c->n; i++)
        kiln_context_destroy(c->entries[i].context);
    c->n = 0;
}
