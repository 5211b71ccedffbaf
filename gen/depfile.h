/* depfile.h: what a tree was made from, as make reads it. */
#ifndef KILN_GEN_DEPFILE_H
#define KILN_GEN_DEPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "diag.h"

/* Writes the rule `target: inputs` to path, at once or not at all, with an
 * empty rule for each input so that one that is gone stops no build. Text is
 * escaped for GNU make. false: sink says what failed. */
bool depfile_write(const char *path, const char *target,
                   const char *const *inputs, size_t n, diag *sink);

#endif /* KILN_GEN_DEPFILE_H */
