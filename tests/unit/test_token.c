/* sources: gen/token.c */
/* Wanted texts are written by hand from C11 6.4 and C++17 [lex]. */
#include "token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, const char *want)
{
    size_t n;
    char *got = token_canonical(text, strlen(text), &n);
    assert_non_null(got);
    assert_int_equal(n, strlen(got));
    assert_string_equal(got, want);
    free(got);
}

static void test_space_and_comments(void **state)
{
    (void)state;
    check("", "");
    check(" \t\v\f\r\n", "");
    check("a  b\n\tc\r\nd", "a b c d");
    check("a/* x\n * y */b", "a b");
    check("a// x\nb", "a b");
    check("a// x \\\n y\nb", "a b");
    check("a/\\\n/ x\nb/\\\n* y *\\\n/c", "a b c");
    check("a/**/b/*/c*/d", "a b d");
    check("a /* never closed", "a");
    check("int x;/*", "int x ;");
}

static void test_literals(void **state)
{
    (void)state;
    check("f(\"a  /* b */ // c\");", "f ( \"a  /* b */ // c\" ) ;");
    check("'\\''+'\"'", "'\\'' + '\"'");
    check("\"a\\\\\"b", "\"a\\\\\" b");
    check("\"a\\\n b\"", "\"a b\"");
    check("L\"x\" u8\"y\" U'z' L \"x\"", "L\"x\" u8\"y\" U'z' L \"x\"");
    check("xL\"x\"", "xL \"x\"");
    check("\"x\"PRId64", "\"x\" PRId64");
    check("R\"(a\n \"b)\"c", "R\"(a\n \"b)\" c");
    check("u8R\"ab()\" /*\\\n)ab\"/**/c", "u8R\"ab()\" /*\\\n)ab\" c");
    check("R\"x y\" z", "R \"x y\" z");
    check("xR\"(\"", "xR \"(\"");
}

static void test_numbers(void **state)
{
    (void)state;
    check("1.5e+3f+2", "1.5e+3f + 2");
    check("0x1p-3+.5-1.", "0x1p-3 + .5 - 1.");
    check("0xe+1", "0xe+1"); /* one pp-number, 6.4.8 */
    check("1+1", "1 + 1");
    check("1'000'000u", "1'000'000u");
    check("a.b .c 1..2", "a . b . c 1..2");
    check("12\\\n34", "1234");
}

static void test_operators(void **state)
{
    (void)state;
    check("k<<<g,b>>>(x);", "k <<< g , b >>> ( x ) ;");
    check("a<<=b>>=c<<d>>e", "a <<= b >>= c << d >> e");
    check("a+++b---c->d", "a ++ + b -- - c -> d");
    check("a&&b||c&d|e^f", "a && b || c & d | e ^ f");
    check("f(...);x=&a==b;", "f ( ... ) ; x = & a == b ;");
    check("a::b<::c", "a :: b < :: c");
    check("<: :> <% %> <=> ->* .*", "<: :> <% %> <=> ->* .*");
    check("> > >", "> > >");
    check("+\\\n+", "++");
    check("a\\b`@", "a \\ b ` @");
    check("\xc3\xa9$x_1", "\xc3\xa9$x_1");
}

static void test_directives(void **state)
{
    (void)state;
    check("#  define A  1\nint x;", "# define A 1\nint x ;");
    check("int y; // z\n#pragma unroll 1\nfor(;;)",
          "int y ;\n# pragma unroll 1\nfor ( ; ; )");
    check("#define F(x) #x\n", "# define F( x ) # x\n");
    check("#define F (x)\n", "# define F ( x )\n");
    check("#define F/**/(x)\n", "# define F ( x )\n");
    check("#define F\\\n(x) a##b", "# define F( x ) a ## b\n");
    check("#define A 1 \\\n + 2\nb", "# define A 1 + 2\nb");
    check("#define A /* \n */ 2\nb", "# define A 2\nb");
    check("#\n#\na", "#\n#\na");
    check("a # b\nc", "a # b c");
    check("a /* \n */ # b\nc", "a # b c");
    check("/**/ %: if 1\n%:endif", "%: if 1\n%: endif\n");
    check("a\n## b", "a ## b");
}

static void test_header_names(void **state)
{
    (void)state;
    check("#include <a/*b.h>\nx", "# include <a/*b.h>\nx");
    check("#include <sys//a b.h>\n", "# include <sys//a b.h>\n");
    check("#include <a\\\nb.h>\n", "# include <ab.h>\n");
    check("#include \"a\\\"\nx", "# include \"a\\\"\nx");
    check("#include H\n", "# include H\n");
    check("#if __has_include(<a/b.h>)\n", "# if __has_include ( <a/b.h> )\n");
    check("#if a <b> c\n", "# if a < b > c\n");
}

/* What is no C still gives different bytes for different tokens. */
static void test_unclosed(void **state)
{
    (void)state;
    check("#error don't  /* do\nx", "# error don 't  /* do\nx");
    check("'a\nb'", "'a\nb '\n");
    check("'a b'", "'a b'");
    check("\"abc\\", "\"abc\\ \n");
    check("#define A \\ \nfoo", "# define A \\ \nfoo");
    check("#define A \\\nfoo", "# define A foo\n");
    check("R\"(abc", "R\"(abc");
}

static void check_fixed_point(const char *text, size_t n)
{
    size_t n_once;
    size_t n_twice;
    char *once = token_canonical(text, n, &n_once);
    assert_non_null(once);
    char *twice = token_canonical(once, n_once, &n_twice);
    assert_non_null(twice);
    if (n_once != n_twice || memcmp(once, twice, n_once) != 0) {
        print_error("text {%.*s}\n once {%s}\ntwice {%s}\n", (int)n, text, once,
                    twice);
        fail();
    }
    free(once);
    free(twice);
}

/* Every text of six characters of an alphabet that opens and closes all. */
static void test_fixed_point(void **state)
{
    static const char letters[] = "a\n #\\'\"<R(";
    char text[6];
    size_t base = sizeof letters - 1;
    (void)state;
    for (size_t i = 0; i < base * base * base * base * base * base; i++) {
        size_t rest = i;
        for (size_t at = 0; at < sizeof text; at++) {
            text[at] = letters[rest % base];
            rest /= base;
        }
        check_fixed_point(text, sizeof text);
    }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Random sequences of tokens: every spacing gives the same bytes, and those
 * are the tokens joined by spaces. */
static void test_spacing(void **state)
{
    static const char *const tokens[] = {
        "a",      "x1",     "12",  "1.5e+3", "\"s /* \"", "'c'", "<<<",
        ">>>",    ">",      "<<=", "=",      "+",         "++",  "->",
        ".",      "...",    "%",   "::",     ":",         "(",   ")",
        "L\"w\"", "0x1p-3", "&&",  "&",      "R\"(\n)\""};
    static const char *const spaces[] = {
        " ", "\n", "\t", "/* c */", "// c\n", " \\\n ", "/**/\n", "\\\r\n "};
    uint64_t seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[400] = "";
        char want[400] = "";
        for (int i = 0; i < 12; i++) {
            const char *token = tokens[next_random(&seed) % 26];
            strcat(text, spaces[next_random(&seed) % 8]);
            strcat(text, token);
            strcat(want, i > 0 ? " " : "");
            strcat(want, token);
        }
        check(text, want);
    }
}

/* Bytes of any value and no NUL at the end: nothing read past the text. */
static void test_any_bytes(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (size_t n = 0; n < 600; n++) {
        char *text = malloc(n + 1);
        assert_non_null(text);
        char *end = realloc(text, n > 0 ? n : 1);
        assert_non_null(end);
        for (size_t i = 0; i < n; i++) {
            end[i] = (char)next_random(&seed);
        }
        check_fixed_point(end, n);
        free(end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space_and_comments),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_directives),
        cmocka_unit_test(test_header_names),
        cmocka_unit_test(test_unclosed),
        cmocka_unit_test(test_fixed_point),
        cmocka_unit_test(test_spacing),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
