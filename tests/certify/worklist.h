/* worklist.h: what `kiln candidates` wants certified, read from its list.
 *
 * One line each, fields apart by tabs:
 *   kernel TIER ISA SYMBOL HASH OP CONFIG STANDING LIMITS CALL; CALL; ...
 *   key    TIER ISA KEY RANGES OP CONFIG,CONFIG,... STANDING CALL
 * ISA is "-" where the tier has none. A line that starts with # names the
 * fields.
 */
#ifndef KILN_TESTS_WORKLIST_H
#define KILN_TESTS_WORKLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "table.h"

typedef struct work_kernel {
    const char *tier;
    const char *isa; /* "-": none */
    const char *symbol;
    const char *hash;
    const char *op;
    const char *config;
    bool standing;
    const char *limits;
    char **calls; /* of correctness */
    int n_calls;
} work_kernel;

typedef struct work_key {
    const char *tier;
    const char *isa;
    const char *key;
    const char *ranges;
    const char *op;
    char **configs;
    int n_configs;
    const char *standing; /* "-": none */
    const char *call;
} work_key;

typedef struct worklist {
    char *text; /* all strings lie in it */
    char **parts;
    work_kernel *kernels;
    int n_kernels;
    work_key *keys;
    int n_keys;
    table by_name; /* of kernels and of keys: their index */
} worklist;

/* false, with "path:line: problem" in why. */
bool worklist_load(worklist *w, const char *path, char *why, size_t cap);
void worklist_free(worklist *w);

/* Whether op is one of a list such as "softmax,silu"; NULL takes all. */
bool worklist_has_op(const char *ops, const char *op);
/* The kernel of a tier and ISA by its symbol, or NULL. */
const work_kernel *worklist_kernel(const worklist *w, const char *tier,
                                   const char *isa, const char *symbol);
/* The key of a tier and ISA by its text, or NULL. */
const work_key *worklist_key(const worklist *w, const char *tier,
                             const char *isa, const char *key);
/* Whether two kernels are of one op and are judged at a common call: such
 * lines are neighbours. */
bool worklist_share_calls(const work_kernel *a, const work_kernel *b);

#endif /* KILN_TESTS_WORKLIST_H */
