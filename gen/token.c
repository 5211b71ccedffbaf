/* token.c: translation phases 2 and 3 of C11 5.1.1.2 and C++17 [lex.phases]:
 * one pass, no look-back. A token is copied as it is read; the separator that
 * follows it is held back until the next one begins.
 */
#include "token.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define END (-1)
#define AHEAD 4 /* characters of the longest operator */

typedef enum separator { SEP_NONE, SEP_SPACE, SEP_LINE } separator;

/* Where in a directive the next token stands. */
typedef enum directive {
    D_NONE,   /* in none */
    D_NAME,   /* after # */
    D_DEFINE, /* a macro's name follows */
    D_HEADER, /* a header's name may follow */
    D_HAS,    /* after __has_include */
    D_REST
} directive;

typedef struct lexer {
    const char *in;
    size_t n;
    size_t at;
    char *out;
    size_t len;
    separator sep;
    directive directive;
    bool line_start; /* only white space since the last new line */
} lexer;

/* Longest first, so that the first match is the longest. */
static const char *const operators[] = {
    "%:%:", "<<<", ">>>", "<<=", ">>=", "...", "->*", "<=>", "->",
    "++",   "--",  "<<",  ">>",  "<=",  ">=",  "==",  "!=",  "&&",
    "||",   "*=",  "/=",  "%=",  "+=",  "-=",  "&=",  "^=",  "|=",
    "##",   "::",  ".*",  "<:",  ":>",  "<%",  "%>",  "%:"};

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Letters, also those of GNU ($) and of UTF-8. */
static bool is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           c == '_' || c == '$' || c >= 0x80;
}

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

/* The first place from `at` on where no line splice begins. */
static size_t past_splices(const lexer *l, size_t at)
{
    while (at + 1 < l->n && l->in[at] == '\\') {
        if (l->in[at + 1] == '\n') {
            at += 2;
        } else if (at + 2 < l->n && l->in[at + 1] == '\r' &&
                   l->in[at + 2] == '\n') {
            at += 3;
        } else {
            break;
        }
    }
    return at;
}

/* The next characters without splices; END past the last. */
static void look(const lexer *l, int c[AHEAD])
{
    size_t at = l->at;
    for (int i = 0; i < AHEAD; i++) {
        at = past_splices(l, at);
        c[i] = at < l->n ? (unsigned char)l->in[at++] : END;
    }
}

static int peek(lexer *l)
{
    l->at = past_splices(l, l->at);
    return l->at < l->n ? (unsigned char)l->in[l->at] : END;
}

/* Copies the next character to the output. */
static void take(lexer *l)
{
    int c = peek(l);
    assert(c != END);
    l->out[l->len++] = (char)c;
    l->at++;
}

/* Writes the separator that was held back. A space keeps a last backslash
 * from making a splice with the new line. */
static void separate(lexer *l)
{
    if (l->sep == SEP_LINE) {
        if (l->len > 0 && l->out[l->len - 1] == '\\') {
            l->out[l->len++] = ' ';
        }
        l->out[l->len++] = '\n';
    } else if (l->sep == SEP_SPACE) {
        l->out[l->len++] = ' ';
    }
    l->sep = SEP_SPACE;
}

/* --- white space ---------------------------------------------------------- */

static void skip_block_comment(lexer *l)
{
    int c[AHEAD];
    peek(l);
    l->at++;
    peek(l);
    l->at++;
    for (look(l, c); c[0] != END; look(l, c)) {
        peek(l);
        l->at++;
        if (c[0] == '*' && c[1] == '/') {
            peek(l);
            l->at++;
            return;
        }
    }
    l->at = l->n;
}

static void skip_line_comment(lexer *l)
{
    for (int c = peek(l); c != END && c != '\n'; c = peek(l)) {
        l->at++;
    }
}

static void end_line(lexer *l)
{
    l->at++;
    l->line_start = true;
    if (l->directive != D_NONE) {
        l->directive = D_NONE;
        l->sep = SEP_LINE;
    }
}

/* Skips to the next token; false at the end. */
static bool skip_space(lexer *l)
{
    for (;;) {
        int c[AHEAD];
        look(l, c);
        if (c[0] == '/' && c[1] == '*') {
            skip_block_comment(l);
        } else if (c[0] == '/' && c[1] == '/') {
            skip_line_comment(l);
        } else if (peek(l) == '\n') {
            end_line(l);
        } else if (is_space(c[0])) {
            l->at++;
        } else {
            return c[0] != END;
        }
    }
}

/* --- tokens --------------------------------------------------------------- */

/* Up to the closing character on this line. An unclosed token ends with the
 * line and keeps a new line after it: what follows must not run into it. */
static void literal(lexer *l, int close, bool escapes)
{
    take(l);
    for (int c = peek(l); c != END && c != '\n'; c = peek(l)) {
        take(l);
        if (c == close) {
            return;
        }
        if (escapes && c == '\\' && peek(l) != END && peek(l) != '\n') {
            take(l);
        }
    }
    while (is_space((unsigned char)l->out[l->len - 1])) {
        l->len--;
    }
    l->sep = SEP_LINE;
}

/* At the quote of a raw string: the length of its delimiter, or END. */
static int raw_delimiter(const lexer *l)
{
    for (int n = 0; n <= 16 && l->at + 1 + (size_t)n < l->n; n++) {
        int c = (unsigned char)l->in[l->at + 1 + (size_t)n];
        if (c == '(') {
            return n;
        }
        if (is_space(c) || c == '\n' || c == ')' || c == '\\' || c == '"') {
            break;
        }
    }
    return END;
}

/* C++17 [lex.string]: everything up to )delimiter" stands as it is. */
static void raw_string(lexer *l, int n_delimiter)
{
    size_t n = (size_t)n_delimiter;
    const char *delimiter = l->in + l->at + 1;
    size_t end = l->at + n + 2;
    while (end < l->n && !(l->in[end] == ')' && l->n - end >= n + 2 &&
                           memcmp(l->in + end + 1, delimiter, n) == 0 &&
                           l->in[end + 1 + n] == '"')) {
        end++;
    }
    if (end == l->n) { /* unclosed: nothing follows */
        l->sep = SEP_NONE;
        l->directive = D_NONE;
    } else {
        end += n + 2;
    }
    memcpy(l->out + l->len, l->in + l->at, end - l->at);
    l->len += end - l->at;
    l->at = end;
}

static bool spells(const char *word, size_t n, const char *what)
{
    return n == strlen(what) && memcmp(word, what, n) == 0;
}

/* An identifier before a quote may be the prefix of a literal. The encoding
 * prefixes are the same in C and C++; R stands for raw in C++ only. */
static void prefixed_literal(lexer *l, const char *word, size_t n)
{
    int quote = peek(l);
    bool raw = n > 0 && word[n - 1] == 'R' && quote == '"';
    size_t m = raw ? n - 1 : n;
    bool prefix = spells(word, m, "L") || spells(word, m, "u") ||
                  spells(word, m, "U") || spells(word, m, "u8");
    if (raw && (m == 0 || prefix) && raw_delimiter(l) != END) {
        raw_string(l, raw_delimiter(l));
    } else if (prefix && !raw && (quote == '"' || quote == '\'')) {
        literal(l, quote, true);
    }
}

/* What a word in a directive says of the token after it. */
static directive after_word(const lexer *l, const char *word, size_t n)
{
    if (l->directive == D_NAME) {
        if (spells(word, n, "define")) {
            return D_DEFINE;
        }
        if (spells(word, n, "include") || spells(word, n, "include_next") ||
            spells(word, n, "import")) {
            return D_HEADER;
        }
    }
    if (spells(word, n, "__has_include") ||
        spells(word, n, "__has_include_next")) {
        return D_HAS;
    }
    return D_REST;
}

/* In #define f(x) no white space stands before the parenthesis, and that is
 * what makes f function-like: keep it so. */
static void word(lexer *l)
{
    size_t start = l->len;
    bool macro = l->directive == D_DEFINE;
    while (is_word(peek(l))) {
        take(l);
    }
    if (l->directive != D_NONE) {
        l->directive = after_word(l, l->out + start, l->len - start);
    }
    if (macro && peek(l) == '(') {
        l->sep = SEP_NONE;
    }
    if (peek(l) == '"' || peek(l) == '\'') {
        prefixed_literal(l, l->out + start, l->len - start);
    }
}

/* C11 6.4.8 and the digit separators of C++14. */
static void number(lexer *l)
{
    int last = 0;
    for (;;) {
        int c[AHEAD];
        look(l, c);
        bool sign = (c[0] == '+' || c[0] == '-') &&
                    (last == 'e' || last == 'E' || last == 'p' || last == 'P');
        bool digits = c[0] == '\'' && is_word(c[1]);
        if (!is_word(c[0]) && c[0] != '.' && !sign && !digits) {
            break;
        }
        take(l);
        last = c[0];
    }
}

/* Characters of the operator at c; 1 also for any other character. */
static size_t operator_length(const int c[AHEAD])
{
    if (c[0] == '<' && c[1] == ':' && c[2] == ':' && c[3] != ':' &&
        c[3] != '>') {
        return 1; /* C++17 [lex.pptoken] 3.2: a<::b */
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        size_t n = 0;
        while (operators[i][n] != '\0' && operators[i][n] == c[n]) {
            n++;
        }
        if (operators[i][n] == '\0') {
            return n;
        }
    }
    return 1;
}

/* # or its digraph. */
static bool is_hash(const int c[AHEAD])
{
    size_t n = operator_length(c);
    return (n == 1 && c[0] == '#') || (n == 2 && c[0] == '%' && c[1] == ':');
}

static void punctuator(lexer *l, const int c[AHEAD])
{
    size_t n = operator_length(c);
    for (size_t i = 0; i < n; i++) {
        take(l);
    }
    if (l->directive == D_HAS && n == 1 && c[0] == '(') {
        l->directive = D_HEADER;
    } else if (l->directive != D_NONE) {
        l->directive = D_REST;
    }
}

/* Whether `close` follows on this line; probe is a copy. */
static bool closes(lexer probe, int close)
{
    int c = peek(&probe);
    while (c != END && c != '\n' && c != close) {
        probe.at++;
        c = peek(&probe);
    }
    return c == close;
}

/* C11 6.4.7: <...> or "..." without escapes. */
static bool header_name(lexer *l, int open)
{
    int close = open == '<' ? '>' : '"';
    lexer probe = *l;
    peek(&probe);
    probe.at++;
    if (l->directive != D_HEADER || (open != '<' && open != '"') ||
        !closes(probe, close)) {
        return false;
    }
    literal(l, close, false);
    return true;
}

/* The token that begins with c, but a word. */
static void other_token(lexer *l, const int c[AHEAD])
{
    if (is_digit(c[0]) || (c[0] == '.' && is_digit(c[1]))) {
        number(l);
    } else if (header_name(l, c[0])) {
        /* taken */
    } else if (c[0] == '"' || c[0] == '\'') {
        literal(l, c[0], true);
    } else {
        punctuator(l, c);
        return;
    }
    if (l->directive != D_NONE) {
        l->directive = D_REST;
    }
}

static void token(lexer *l)
{
    int c[AHEAD];
    look(l, c);
    bool opens = l->line_start && l->directive == D_NONE && is_hash(c);
    if (opens && l->len > 0) {
        l->sep = SEP_LINE;
    }
    separate(l);
    if (is_word(c[0]) && !is_digit(c[0])) {
        word(l);
    } else {
        other_token(l, c);
    }
    if (opens) {
        l->directive = D_NAME;
    }
    l->line_start = false;
}

/* Each token of one character at least is followed by one separator, and one
 * that ends in a backslash by two at most before a new line was read. */
char *token_canonical(const char *text, size_t n, size_t *out_n)
{
    lexer l = {.in = text, .n = n, .line_start = true};
    assert((text != NULL || n == 0) && out_n != NULL);
    if (n > SIZE_MAX / 2 - 8) {
        return NULL;
    }
    l.out = malloc(2 * n + 8);
    if (l.out == NULL) {
        return NULL;
    }
    while (skip_space(&l)) {
        token(&l);
    }
    if (l.directive != D_NONE) {
        l.sep = SEP_LINE;
    }
    if (l.sep == SEP_LINE) {
        separate(&l);
    }
    l.out[l.len] = '\0';
    *out_n = l.len;
    return l.out;
}
