/* lines.h: what an attempt leaves behind: a line of JSON. */
#ifndef KILN_TESTS_LINES_H
#define KILN_TESTS_LINES_H

#include <stdio.h>

#include "correct.h"
#include "tier.h"
#include "timing.h"

void lines_put_kernel(FILE *out, const tier_facts *tier, const work_kernel *k,
                      const correct_result *result);
void lines_put_key(FILE *out, const tier_facts *tier, const work_key *k,
                   const timing_result *result);

#endif /* KILN_TESTS_LINES_H */
