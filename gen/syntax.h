/* syntax.h: libyaml's errors in plain words. */
#ifndef KILN_GEN_SYNTAX_H
#define KILN_GEN_SYNTAX_H

#include <stddef.h>
#include <yaml.h>

#define SYNTAX_ROOM 300

/* Writes what was wrong with text[0 .. n) to `why`, when parser, which read
 * it, has failed for another reason than memory. */
void syntax_explain(const yaml_parser_t *parser, const char *text, size_t n,
                    char why[SYNTAX_ROOM]);

#endif /* KILN_GEN_SYNTAX_H */
