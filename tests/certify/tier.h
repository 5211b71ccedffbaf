/* tier.h: what the tiers of a list run on here. */
#ifndef KILN_TESTS_TIER_H
#define KILN_TESTS_TIER_H

#include <stdbool.h>

#include "worklist.h"

#define TIER_MOST 16

typedef struct tier_facts {
    const char *name;
    bool cuda;
    bool present;
    bool forced; /* it is not the device's own */
    char device[256];
    const char *compiler; /* of its kernels */
    char why[1024];       /* absent */
} tier_facts;

typedef struct tiers {
    tier_facts list[TIER_MOST];
    int n;
} tiers;

/* Finds the facts of all tiers of the list; CUDA's are asked for in a child
 * process, so that this one may fork later, or with `here` in this one.
 * false: too many tiers, no memory or no child. */
bool tiers_find(tiers *t, const worklist *w, bool here);
/* Of a tier of the list. */
const tier_facts *tiers_get(const tiers *t, const char *name);

#endif /* KILN_TESTS_TIER_H */
