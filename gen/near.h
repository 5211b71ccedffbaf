/* near.h: how far apart two names are, for "did you mean". */
#ifndef KILN_GEN_NEAR_H
#define KILN_GEN_NEAR_H

#include <stddef.h>

/* Names longer than this are far from all others. */
#define NEAR_LONGEST 64

/* A name further than this from a wanted one is no hint. */
#define NEAR_LIMIT(n) ((size_t)((n) < 3 ? 1 : (n) < 8 ? 2 : 3))

/* Least number of insertions, deletions, substitutions and swaps of
 * neighbours that turn a into b (optimal string alignment; Damerau, CACM
 * 7(3), 1964); no swapped pair is edited again. */
size_t near_distance(const char *a, const char *b);

#endif /* KILN_GEN_NEAR_H */
