#include "syntax.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* libyaml's words, where ours are plainer. */
static const char *plain_words(const char *problem)
{
    static const char *const words[][2] = {
        {"mapping values are not allowed in this context",
         "a ':' is not allowed here; quote a text that holds one"},
        {"could not find expected ':'",
         "a ':' is missing, or the text before it is too long for a key"},
        {"did not find expected key",
         "expected a key; is the indentation right?"},
        {"did not find expected '-' indicator",
         "expected '-'; is the indentation right?"},
        {"did not find expected ',' or '}'", "expected ',' or '}'"},
        {"did not find expected ',' or ']'", "expected ',' or ']'"},
        {"did not find expected node content", "expected a value"},
        {"found unexpected ':'",
         "a ':' is not allowed here; a blank follows the ':' of a key"},
        {"found unexpected end of stream", "the text ends too early"},
        {"found unknown escape character",
         "unknown escape; a backslash in double quotes is written \\\\"},
        {"found character that cannot start any token",
         "no value starts with this character; quote it"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(problem, words[i][0]) == 0) {
            return words[i][1];
        }
    }
    return problem;
}

/* A tab where the indentation stands. In a flow collection it is white space
 * like any other. */
static bool is_tab_fault(const yaml_parser_t *p, const char *text, size_t n)
{
    if (strstr(p->problem, "tab character")) {
        return true;
    }
    return strstr(p->problem, "cannot start any token") &&
           text_at(text, n, p->problem_mark.line + 1,
                   p->problem_mark.column + 1) == '\t';
}

/* Whether the context says more than that a token was read. */
static bool has_context(const yaml_parser_t *p)
{
    return p->context &&
           strcmp(p->context, "while scanning for the next token") != 0;
}

void syntax_explain(const yaml_parser_t *parser, const char *text, size_t n,
                    char why[SYNTAX_ROOM])
{
    const yaml_parser_t *p = parser;
    assert(p->problem);
    if (is_tab_fault(p, text, n)) {
        snprintf(why, SYNTAX_ROOM, "tab used for indentation");
        return;
    }
    const char *what = plain_words(p->problem);
    const char *tab = text_tab_indents(text, n, p->problem_mark.line + 1)
                          ? "; a tab indents the line"
                          : "";
    if (has_context(p)) {
        snprintf(why, SYNTAX_ROOM, "%s (%s that starts at line %d)%s", what,
                 p->context, (int)p->context_mark.line + 1, tab);
    } else {
        snprintf(why, SYNTAX_ROOM, "%s%s", what, tab);
    }
}
