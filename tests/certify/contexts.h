/* contexts.h: kiln contexts by tier, ISA and config, kept for the next use. */
#ifndef KILN_TESTS_CONTEXTS_H
#define KILN_TESTS_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "kiln.h"

#define CONTEXTS_MOST 256

typedef struct contexts_entry {
    const char *tier;
    const char *isa;
    const char *config; /* NULL: as certified */
    kiln_context *context;
} contexts_entry;

/* Zeroed: empty. */
typedef struct contexts {
    contexts_entry entries[CONTEXTS_MOST];
    int n;
} contexts;

/* The cpu's tier runs on the cpu, every other on CUDA device 0. */
bool contexts_is_cuda(const char *tier);
DLDevice contexts_device(const char *tier);

/* A new one; NULL with the reason in why. isa "-": none; config NULL: as
 * certified; threads as in kiln_options. */
kiln_context *contexts_open(const char *tier, const char *isa,
                            const char *config, int threads, char *why,
                            size_t cap);
/* One that was opened before, or a new one, which stays with c; names must
 * outlive it. NULL with the reason in why, also when there are
 * CONTEXTS_MOST. */
kiln_context *contexts_get(contexts *c, const char *tier, const char *isa,
                           const char *config, char *why, size_t cap);
/* All; no plan of them may be left. */
void contexts_close(contexts *c);

#endif /* KILN_TESTS_CONTEXTS_H */
