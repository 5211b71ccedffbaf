/* worklist.h: what `kiln candidates` wants certified, read from its list.
 *
 * One line each, fields apart by tabs:
 *   kernel ISA SYMBOL HASH OP CONFIG STANDING LIMITS CALL; CALL; ...
 *   key    ISA KEY RANGES OP CONFIG,CONFIG,... STANDING CALL
 * A line that starts with # names the fields.
 */
#ifndef KILN_TESTS_WORKLIST_H
#define KILN_TESTS_WORKLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "table.h"

typedef struct work_kernel {
    const char *isa;
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
/* The kernel of an ISA by its symbol, or NULL. */
const work_kernel *worklist_kernel(const worklist *w, const char *isa,
                                   const char *symbol);
/* The key of an ISA by its text, or NULL. */
const work_key *worklist_key(const worklist *w, const char *isa,
                             const char *key);

#endif /* KILN_TESTS_WORKLIST_H */
