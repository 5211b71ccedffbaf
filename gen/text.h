/* text.h: whether bytes are text that YAML 1.1 and 1.2 read alike. */
#ifndef KILN_GEN_TEXT_H
#define KILN_GEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "diag.h"

/* Whether text[0 .. n) is UTF-8 of printable characters, tabs and the line
 * breaks \n, \r, \r\n. false: the first thing wrong is in sink, at its line
 * and column in path. */
bool text_check(const char *text, size_t n, const char *path, diag *sink);

/* The byte of the character at line and col (from 1), or 0. */
char text_at(const char *text, size_t n, size_t line, size_t col);

/* Whether a tab stands in the white space that begins the line (from 1). */
bool text_tab_indents(const char *text, size_t n, size_t line);

/* The most bytes, up to `most`, that text[0 .. n) can be cut to without
 * cutting a character of UTF-8. */
int text_clip(const char *text, size_t n, int most);

#endif /* KILN_GEN_TEXT_H */
