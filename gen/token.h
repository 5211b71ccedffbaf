/* token.h: the canonical token text of C and CUDA sources. */
#ifndef KILN_GEN_TOKEN_H
#define KILN_GEN_TOKEN_H

#include <stddef.h>

/* The preprocessing tokens of text[0 .. n), spelled as they are and joined by
 * one space; comments, white space and line splices are gone. A directive
 * stands on a line of its own. Two texts give equal bytes exactly when their
 * tokens are equal, so the result is a fixed point of this function.
 *
 * Where C11 and C++ cut differently, C++ and CUDA decide (raw strings, digit
 * separators, `::`, `<<<`, `>>>`), but a suffix after a string is a token of
 * its own, as in "x"PRId64. Trigraphs are not replaced.
 *
 * Returns malloc'd bytes, *out_n of them (a NUL follows them, uncounted); the
 * caller frees. NULL: out of memory. Takes time linear in n. */
char *token_canonical(const char *text, size_t n, size_t *out_n);

#endif /* KILN_GEN_TOKEN_H */
