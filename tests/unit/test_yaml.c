/* sources: gen/marked.c gen/syntax.c gen/text.c gen/number.c gen/diag.c
 *          gen/sandbox.c gen/order.c */
/* libs: -llua5.4 -lyaml */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <lua.h>

#include "diag.h"
#include "marked.h"
#include "number.h"

/* --- a reader that shows what it read ------------------------------------- */

/* Allocations until one fails; negative: none does. */
typedef struct budget {
    long left;
} budget;

static void *allocate(void *user, void *old, size_t old_n, size_t n)
{
    budget *b = user;
    if (n == 0) {
        free(old);
        return NULL;
    }
    if (b->left == 0 && !(old && n <= old_n)) {
        return NULL;
    }
    b->left -= b->left > 0;
    return realloc(old, n);
}

typedef struct job {
    diag *sink;
    const char *text;
    size_t n;
    bool places; /* show them */
    char *shown; /* malloc'd; NULL: no node */
} job;

static void show(lua_State *L, FILE *to, bool places);

static void show_scalar(lua_State *L, FILE *to)
{
    lua_getfield(L, -1, "plain");
    lua_getfield(L, -2, "text");
    const char *quote = lua_toboolean(L, -2) ? "" : "\"";
    fprintf(to, "%s%s%s", quote, lua_tostring(L, -1), quote);
    lua_pop(L, 2);
}

static void show_entry(lua_State *L, bool map, FILE *to, bool places)
{
    if (!map) {
        show(L, to, places);
        return;
    }
    lua_getfield(L, -1, "key");
    show(L, to, places);
    fputs(": ", to);
    lua_getfield(L, -2, "value");
    show(L, to, places);
    lua_pop(L, 2);
}

static lua_Integer field(lua_State *L, const char *name)
{
    lua_getfield(L, -1, name);
    const lua_Integer value = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return value;
}

/* The node at the top as text. */
static void show(lua_State *L, FILE *to, bool places)
{
    lua_getfield(L, -1, "kind");
    const char kind = lua_tostring(L, -1)[1]; /* sCalar mAp sEq */
    lua_pop(L, 1);
    lua_getfield(L, -1, "path");
    assert_string_equal(lua_tostring(L, -1), "t");
    lua_pop(L, 1);
    if (kind == 'c') {
        show_scalar(L, to);
    } else {
        fputc(kind == 'a' ? '{' : '[', to);
        for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -1); i++) {
            fputs(i > 1 ? ", " : "", to);
            lua_rawgeti(L, -1, i);
            show_entry(L, kind == 'a', to, places);
            lua_pop(L, 1);
        }
        fputc(kind == 'a' ? '}' : ']', to);
    }
    if (places) {
        fprintf(to, "@%d.%d", (int)field(L, "line"), (int)field(L, "col"));
    }
}

static int run_job(lua_State *L)
{
    job *j = lua_touserdata(L, 1);
    marked_load(L, j->sink, "t", j->text, j->n);
    if (!lua_isnil(L, -1)) {
        size_t size;
        FILE *to = open_memstream(&j->shown, &size);
        show(L, to, j->places);
        fclose(to);
    }
    return 0;
}

/* Reads with at most `left` allocations. *shown: the node, or NULL; *errors:
 * the messages. Both malloc'd. Returns lua_pcall's status. */
static int load(const char *text, size_t n, bool places, long left,
                char **shown, char **errors)
{
    budget b = {-1};
    size_t size;
    diag *sink = diag_create(allocate, &b);
    job j = {.sink = sink, .text = text, .n = n, .places = places};
    lua_State *L = lua_newstate(allocate, &b);
    assert_non_null(L);
    lua_pushcfunction(L, run_job);
    lua_pushlightuserdata(L, &j);
    b.left = left;
    const int status = lua_pcall(L, 1, 0, 0);
    b.left = -1;
    const size_t count = diag_count(sink);
    FILE *to = open_memstream(errors, &size);
    assert_true(diag_write(sink, to));
    fclose(to);
    if (status == LUA_OK) {
        assert_true((count == 0) == (j.shown != NULL));
    }
    lua_close(L);
    diag_destroy(sink);
    *shown = j.shown;
    return status;
}

/* `want` is the node, or the messages when it ends in a newline. */
static void expect_bytes(const char *text, size_t n, bool places,
                         const char *want)
{
    char *shown;
    char *errors;
    assert_int_equal(load(text, n, places, -1, &shown, &errors), LUA_OK);
    const char *got = shown ? shown : errors;
    if (strcmp(got, want) != 0) {
        fail_msg("%.200s\ngave: %s\nwant: %s", text, got, want);
    }
    free(shown);
    free(errors);
}

static void expect(const char *text, const char *want)
{
    expect_bytes(text, strlen(text), false, want);
}

/* --- texts ---------------------------------------------------------------- */

static void test_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"base: &b {dtype: float16, tile: 64}\none: *b\ntwo: *b\n",
         "{base: {dtype: float16, tile: 64}, one: {dtype: float16, tile: 64},"
         " two: {dtype: float16, tile: 64}}"},
        {"eps: 1e-5\n", "{eps: 1e-5}"},
        {"a: .inf\nb: -.inf\nc: .nan\n", "{a: .inf, b: -.inf, c: .nan}"},
        {"layout: no\n", "{layout: no}"},
        {"on: 1\noff: 2\n", "{on: 1, off: 2}"},
        {"causal: yes\n", "{causal: yes}"},
        {"n: 9007199254740993\n", "{n: 9007199254740993}"},
        {"\xEF\xBB\xBF- a: 1\n  b: 2\n", "[{a: 1, b: 2}]"},
        {"\xEF\xBB\xBF"
         "a: b\nc: d\n",
         "{a: b, c: d}"},
        {"a:\t1\n", "{a: 1}"},
        {"{\n\t\"a\": [1,\n\t\t2]\n}\n", "{\"a\": [1, 2]}"},
        {"a:\nb: ''\n", "{a: , b: \"\"}"},
        {"a: ~\nb: null\n", "{a: ~, b: null}"},
        {"'<<': 1\n", "{\"<<\": 1}"},
        {"{N: size(x, dim)}\n", "{N: size(x, dim): }"},
        {"{N: \"size(x, dim)\"}\n", "{N: \"size(x, dim)\"}"},
        {"key:value\n", "key:value"},
        {"{key:value}\n", "{key:value: }"},
        {"a: |\n  x\n  y\n", "{a: \"x\ny\n\"}"},
        {"a: >\n  x\n  y\n", "{a: \"x y\n\"}"},
        {"--- # comment\na: 1\n...\n", "{a: 1}"},
        {"a: x # y\n", "{a: x}"},
        {"a: x#y\n", "{a: x#y}"},
        {"\"a\\nb\": \"\\u00fc\\t\"\n", "{\"a\nb\": \"\xC3\xBC\t\"}"},
        {"a: \xC3\xBC \xF0\x9F\x98\x80\n", "{a: \xC3\xBC \xF0\x9F\x98\x80}"},
        {"a: 1\r\nb: 2\r\n", "{a: 1, b: 2}"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"? a\n: b\n", "{a: b}"},
        {"x: &a 1\ny: [*a, *a]\n", "{x: 1, y: [1, 1]}"},
        {"{&a k: 1, j: *a }", "{k: 1, j: k}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(cases[i][0], cases[i][1]);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"op: relu\nop: gelu\n", "t:2:1: duplicate key op (first at line 1)\n"},
        {"attrs:\n  number: 10\n  number: 20\n",
         "t:3:3: duplicate key number (first at line 2)\n"},
        {"{a: 1, 'a': 2, b: {a: 1}}\n",
         "t:1:8: duplicate key a (first at line 1)\n"},
        {"a: 1\na: 2\na: 3\n", "t:2:1: duplicate key a (first at line 1)\n"
                               "t:3:1: duplicate key a (first at line 1)\n"},
        {"a:\n\tb: 1\n", "t:2:1: tab used for indentation\n"},
        {"a:\n  b: 1\n \tc: 1\n", "t:3:2: tab used for indentation\n"},
        {"- a\n\t- b\n", "t:2:1: tab used for indentation\n"},
        {"base: &b {a: 1, c: 3}\nx:\n  <<: *b\n  a: 2\n",
         "t:3:3: merge keys are not supported (<<); write the fields out\n"},
        {"", "t:1:1: empty file\n"},
        {"# nothing\n\n", "t:1:1: empty file\n"},
        {"---\n", "t:1:1: empty file\n"},
        {"\xEF\xBB\xBF", "t:1:1: empty file\n"},
        {"a: 1\n---\nb: 2\n", "t:2:1: a second document; a file holds one\n"},
        {"%YAML 1.2\n---\na: 1\n",
         "t:1:1: directives (%YAML, %TAG) are not supported\n"},
        {"a: !!str 1\nb: !x {}\n",
         "t:1:4: tags are not supported: leave out !!str\n"
         "t:2:4: tags are not supported: leave out !x\n"},
        {"a: ! 1\n", "t:1:4: tags are not supported: leave out !\n"},
        {"{a: 1}: 2\n",
         "t:1:1: a key must be a scalar, not a map; quote a text that holds "
         "{ }\n"},
        {"? [a]\n: 2\n",
         "t:1:3: a key must be a scalar, not a list; quote a text that holds "
         "[ ]\n"},
        {"a: &x k\n*x : 2\n", "t:2:1: a key must be a scalar, not an alias\n"},
        {"?\n: 1\n", "t:1:2: a key has no text\n"},
        {"a: 1\n  \tb: 2\n", "t:2:5: a ':' is not allowed here; quote a text "
                             "that holds one; a tab indents the line\n"},
        {"a: *b\n", "t:1:4: alias *b has no anchor before it\n"},
        {"a: &a [1, *a]\n", "t:1:11: alias *a stands inside its own anchor\n"},
        {"a: &x 1\nb: &x 2\n",
         "t:2:4: anchor &x is set twice (first at line 1)\n"},
        {"a: [1, 2\n", "t:2:1: expected ',' or ']' (while parsing a flow "
                       "sequence that starts at line 1)\n"},
        {"a: {b: 1\nc: 2}\n",
         "t:2:2: expected ',' or '}' (while parsing a flow mapping that "
         "starts at line 1)\n"},
        {"a: b: c\n", "t:1:5: a ':' is not allowed here; quote a text that "
                      "holds one\n"},
        {"a: \"x\n", "t:2:1: the text ends too early (while scanning a "
                     "quoted scalar that starts at line 1)\n"},
        {"a: @x\n", "t:1:4: no value starts with this character; quote it\n"},
        {"a: 1\n b: 2\n",
         "t:2:3: a ':' is not allowed here; quote a text that holds one\n"},
        {"a: \"\\q\"\n",
         "t:1:5: unknown escape; a backslash in double quotes is written "
         "\\\\ (while parsing a quoted scalar that starts at line 1)\n"},
        {"a: \xC3\xBC\xFF\n", "t:1:5: invalid UTF-8: byte 0xff\n"},
        {"a: 1\nb: \xC0\xAF\n", "t:2:4: invalid UTF-8: byte 0xc0\n"},
        {"a: \xED\xA0\x80\n", "t:1:4: invalid UTF-8: byte 0xed\n"},
        {"a: \xF4\x90\x80\x80\n", "t:1:4: invalid UTF-8: byte 0xf4\n"},
        {"a: \xE2\x82", "t:1:4: invalid UTF-8: byte 0xe2\n"},
        {"a: x\x01y\n", "t:1:5: U+0001 is a control character; escape it in "
                        "a double-quoted text\n"},
        {"a: x\x7F\n", "t:1:5: U+007F is a control character; escape it in "
                       "a double-quoted text\n"},
        {"a: x\xC2\x85y\n", "t:1:5: U+0085 is a line break to YAML 1.1 but "
                            "not to 1.2; write \\n\n"},
        {"a: x\xE2\x80\xA8y\n", "t:1:5: U+2028 is a line break to YAML 1.1 "
                                "but not to 1.2; write \\n\n"},
        {"a: \xEF\xBB\xBF\n", "t:1:4: U+FEFF is a byte-order mark inside the "
                              "text; remove it\n"},
        {"\xFF\xFE"
         "a",
         "t:1:1: UTF-16 text; save the file as UTF-8\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(cases[i][0], cases[i][1]);
    }
    expect_bytes("\0a\0:", 4, false,
                 "t:1:1: UTF-16 text; save the file as UTF-8\n");
    expect_bytes("ab: \0\n", 6, false,
                 "t:1:5: U+0000 is a control character; escape it in a "
                 "double-quoted text\n");
}

static void test_places(void **state)
{
    (void)state;
    static const char text[] = "a: 1\n"
                               "\xC3\xBC: {b: \"x\", c: [1,\n"
                               "  2]}\n"
                               "d:\r\n"
                               "  - &k e: f\n";
    static const char want[] =
        "{a@1.1: 1@1.4, \xC3\xBC@2.1: {b@2.5: \"x\"@2.8, c@2.13: [1@2.17, "
        "2@3.3]@2.16}@2.4, d@4.1: [{e@5.5: f@5.11}@5.5]@5.3}@1.1";
    expect_bytes(text, sizeof text - 1, true, want);
    expect_bytes("\xEF\xBB\xBF[a]", 6, true, "[a@1.2]@1.1");
}

static int check_marks(lua_State *L)
{
    job *j = lua_touserdata(L, 1);
    marked_load(L, j->sink, "t", j->text, j->n);
    lua_rawgeti(L, -1, 1);
    lua_getfield(L, -1, "block");
    assert_true(lua_toboolean(L, -1));
    lua_pop(L, 1);
    assert_int_equal(field(L, "end_line"), 3);
    lua_pop(L, 1);
    lua_rawgeti(L, -1, 2);
    lua_getfield(L, -1, "block");
    assert_true(lua_isnil(L, -1));
    lua_pop(L, 1);
    assert_int_equal(field(L, "end_line"), 4);
    lua_pop(L, 1);
    lua_rawgeti(L, -1, 3);
    assert_int_equal(field(L, "end_line"), 0);
    return 0;
}

/* What messages about a place inside a scalar need to know. */
static void test_scalar_marks(void **state)
{
    (void)state;
    static const char text[] = "- |\n  x\n- y\n  z\n- w\n";
    budget b = {-1};
    job j = {
        .sink = diag_create(allocate, &b), .text = text, .n = sizeof text - 1};
    lua_State *L = lua_newstate(allocate, &b);
    lua_pushcfunction(L, check_marks);
    lua_pushlightuserdata(L, &j);
    assert_int_equal(lua_pcall(L, 1, 0, 0), LUA_OK);
    lua_close(L);
    diag_destroy(j.sink);
}

/* --- bounds --------------------------------------------------------------- */

static char *repeated(const char *unit, size_t n)
{
    const size_t size = strlen(unit);
    char *text = malloc(size * n + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + i * size, unit, size);
    }
    text[size * n] = '\0';
    return text;
}

static void expect_repeated(const char *head, const char *unit, size_t n,
                            const char *tail, const char *want)
{
    char *middle = repeated(unit, n);
    const size_t size = strlen(head) + strlen(middle) + strlen(tail) + 1;
    char *text = malloc(size);
    snprintf(text, size, "%s%s%s", head, middle, tail);
    if (want) {
        expect(text, want);
    } else {
        char *shown;
        char *errors;
        assert_int_equal(load(text, strlen(text), false, -1, &shown, &errors),
                         LUA_OK);
        assert_string_equal(errors, "");
        free(shown);
        free(errors);
    }
    free(text);
    free(middle);
}

static void test_depth(void **state)
{
    (void)state;
    char *open = repeated("[", 64);
    char *close = repeated("]", 64);
    expect_repeated(open, "", 0, close, NULL);
    free(open);
    free(close);
    static const char want[] = "t:1:65: nesting deeper than 64\n";
    expect_repeated("", "[", 65, "", want);
    expect_repeated("", "[", 10000, "", want);
    expect_repeated("", "{a: ", 10000, "",
                    "t:1:257: nesting deeper than "
                    "64\n");
    expect_repeated("", "- ", 10000, "", "t:1:129: nesting deeper than 64\n");
    /* Aliases count: 60 levels in an anchor, used 5 levels down. */
    open = repeated("[", 60);
    close = repeated("]", 60);
    char text[400];
    snprintf(text, sizeof text, "- &a %s%s\n- [[[*a]]]\n", open, close);
    expect_repeated(text, "", 0, "", NULL);
    snprintf(text, sizeof text, "- &a %s%s\n- [[[[*a]]]]\n", open, close);
    expect(text, "t:2:7: nesting deeper than 64, aliases expanded\n");
    free(open);
    free(close);
}

static void test_alias_bound(void **state)
{
    (void)state;
    /* Nodes of a: 10; b: 1 + 9 * 10 = 91; c: 820; d: 7381; e: 66430. Aliases
     * of b to e stand for 9 * (10 + 91 + 820 + 7381) = 74718 nodes. */
    char text[600] = "a: &a [x,x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c <= 'i'; c++) {
        char line[64];
        snprintf(line, sizeof line,
                 "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c - 1,
                 c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
        strcat(text, line);
    }
    expect(text, "t:6:8: alias expansion limit: aliases stand for more than "
                 "100000 nodes\n");
    /* An anchor of 100 nodes, used 1000 and 1001 times. */
    char *items = repeated("x,", 98);
    char head[300];
    snprintf(head, sizeof head, "a: &a [%sx]\nb: [", items);
    free(items);
    expect_repeated(head, "*a ,", 1000, "]\n", NULL);
    expect_repeated(head, "*a ,", 1001, "]\n",
                    "t:2:4005: alias expansion limit: aliases stand for more "
                    "than 100000 nodes\n");
}

static void test_size(void **state)
{
    (void)state;
    /* The node count includes the list itself. */
    expect_repeated("[", "x,", MARKED_NODES_MAX, "]",
                    "t:1:2000000: more than 1000000 nodes\n");
    const size_t n = MARKED_BYTES_MAX;
    char *text = malloc(n + 1);
    memset(text, ' ', n + 1);
    memcpy(text, "a: 1 #", 6);
    expect_bytes(text, n, false, "{a: 1}");
    expect_bytes(text, n + 1, false, "t: larger than 16 MB\n");
    free(text);
}

/* A message repeats no more than a line of a long text. */
static void test_long_texts(void **state)
{
    (void)state;
    char *key = repeated("k", 900);
    char text[2000];
    snprintf(text, sizeof text, "\"%s\": 1\n\"%s\": 2\n", key, key);
    key[60] = '\0';
    char want[200];
    snprintf(want, sizeof want, "t:2:1: duplicate key %s (first at line 1)\n",
             key);
    expect(text, want);
    free(key);
}

/* --- hostile runs --------------------------------------------------------- */

static const char rich[] = "a: &a {b: [1, 'x', \"y\\n\"], c: |\n  t\n }\n"
                           "d: [*a, ? e : f, {g: h}]\n"
                           "i: >-\n  j\n  k\n"
                           "? l\n: - m\n  - n: o\n";

/* Every allocation of Lua's, one after another, fails. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char text[] = "a: &a {b: [1, 'x']}\nc: *a\na: 1\n";
    int status = LUA_ERRMEM;
    long n = 0;
    for (; status != LUA_OK; n++) {
        char *shown;
        char *errors;
        status = load(text, sizeof text - 1, false, n, &shown, &errors);
        assert_true(status == LUA_OK || status == LUA_ERRMEM);
        free(shown);
        free(errors);
        assert_true(n < 10000);
    }
    assert_true(n > 10);
}

static uint32_t random32(uint32_t *seed) /* Marsaglia's xorshift, 2003 */
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Changed bytes give a node or messages, never a crash. */
static void test_random_changes(void **state)
{
    (void)state;
    static const char marks[] = "[]{}:,-?&*!|>'\"%@`#\n\t \\<a1\xC3\xFF";
    uint32_t seed = 1;
    for (int run = 0; run < 20000; run++) {
        char text[sizeof rich];
        memcpy(text, rich, sizeof rich);
        for (uint32_t i = random32(&seed) % 6; i < 6; i++) {
            text[random32(&seed) % (sizeof rich - 1)] =
                marks[random32(&seed) % (sizeof marks - 1)];
        }
        char *shown;
        char *errors;
        const size_t n = random32(&seed) % sizeof rich;
        assert_int_equal(load(text, n, true, -1, &shown, &errors), LUA_OK);
        free(shown);
        free(errors);
    }
}

static void test_random_bytes(void **state)
{
    (void)state;
    uint32_t seed = 2;
    for (int run = 0; run < 20000; run++) {
        char text[64];
        const size_t n = random32(&seed) % sizeof text;
        const uint32_t range = run % 2 ? 256 : 128;
        for (size_t i = 0; i < n; i++) {
            text[i] = (char)(random32(&seed) % range);
        }
        char *shown;
        char *errors;
        assert_int_equal(load(text, n, true, -1, &shown, &errors), LUA_OK);
        free(shown);
        free(errors);
    }
}

/* --- numbers -------------------------------------------------------------- */

static void test_ints(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"2147483648", 2147483648},
                {"9007199254740993", 9007199254740993},
                {"8421999999999995999", 8421999999999995999},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      "01",
                                      "-010",
                                      "0x10",
                                      "0o7",
                                      "1_000",
                                      "1:30",
                                      "1.0",
                                      "1e3",
                                      " 1",
                                      "1 ",
                                      "--1",
                                      "yes",
                                      "\xD9\xA1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "18446744073709551616",
                                      "99999999999999999999999"};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(number_int(good[i].text, strlen(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(number_int(bad[i], strlen(bad[i]), &value));
    }
    assert_false(number_int("1\0", 2, &value));
}

/* The bits that Python's float() gives. */
static void test_floats(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1e-5", 0x1.4f8b588e368f1p-17},
                {"1.0e-05", 0x1.4f8b588e368f1p-17},
                {"1e3", 1000},
                {"5", 5},
                {"-0", -0.0},
                {".5", 0.5},
                {"1.", 1},
                {"+1.5E+2", 150},
                {"007.5", 7.5},
                {"0.1", 0x1.999999999999ap-4},
                {"123456789012345678901234567890", 0x1.8ee90ff6c373ep+96},
                {"9007199254740993", 9007199254740992},
                {"9007199254740993.0000000000000000000001", 9007199254740994},
                {"4.9e-324", 0x0.0000000000001p-1022},
                {"1.7976931348623157e308", 0x1.fffffffffffffp+1023},
                {"0e999999999999", 0},
                {".inf", (double)INFINITY},
                {"+.INF", (double)INFINITY},
                {"-.Inf", -(double)INFINITY}};
    static const char *const bad[] = {
        "",     ".",     "e5",    "1e",  "1e+",   "1.2.3",  "0x1p3", "inf",
        "nan",  "-.nan", "1_0.0", "1,5", "010",   "1:30.5", "1e999", "1e-999",
        " 1.0", "1.0 ",  "+",     "-.",  ".infx", "1d0"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const char *text = good[i].text;
        if (!number_float(text, strlen(text), &value) ||
            memcmp(&value, &good[i].value, sizeof value) != 0) {
            fail_msg("%s gave %a", text, value);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (number_float(bad[i], strlen(bad[i]), &value)) {
            fail_msg("%s gave %a", bad[i], value);
        }
    }
    assert_true(number_float(".nan", 4, &value) && isnan(value));
    char *digits = repeated("1", 1001);
    assert_true(number_float(digits, 300, &value));
    assert_false(number_float(digits, 1001, &value));
    free(digits);
}

/* The texts that Python's repr() gives. */
static void test_float_text(void **state)
{
    (void)state;
    static const struct {
        uint64_t bits;
        const char *text;
    } cases[] = {
        {UINT64_C(0x0000000000000000), "0.0"},
        {UINT64_C(0x8000000000000000), "-0.0"},
        {UINT64_C(0x3ff0000000000000), "1.0"},
        {UINT64_C(0x3fb999999999999a), "0.1"},
        {UINT64_C(0x4340000000000000), "9007199254740992.0"},
        {UINT64_C(0x4340000000000001), "9007199254740994.0"},
        {UINT64_C(0x7fefffffffffffff), "1.7976931348623157e+308"},
        {UINT64_C(0x0000000000000001), "5e-324"},
        {UINT64_C(0x000fffffffffffff), "2.225073858507201e-308"},
        {UINT64_C(0x0010000000000000), "2.2250738585072014e-308"},
        {UINT64_C(0x3ee4f8b588e368f1), "1e-05"},
        {UINT64_C(0x3f1a36e2eb1c432d), "0.0001"},
        {UINT64_C(0x3f1a36e2eb1c432c), "9.999999999999999e-05"},
        {UINT64_C(0x4341c37937e08000), "1e+16"},
        {UINT64_C(0x4341c37937e07fff), "9999999999999998.0"},
        {UINT64_C(0x430c6bf526340000), "1000000000000000.0"},
        {UINT64_C(0x3d30000000000000), "5.684341886080802e-14"},
        {UINT64_C(0x44b52d02c7e14af6), "1e+23"},
        {UINT64_C(0xc05ec00000000000), "-123.0"},
        {UINT64_C(0x400921fb54442d18), "3.141592653589793"},
        {UINT64_C(0x3fd5555555555555), "0.3333333333333333"},
        {UINT64_C(0x40590ccccccccccd), "100.2"},
        {UINT64_C(0x4415af1d78b58c40), "1e+20"},
        {UINT64_C(0xbf50624dd2f1a9fc), "-0.001"},
        {UINT64_C(0x7ff0000000000000), ".inf"},
        {UINT64_C(0xfff0000000000000), "-.inf"},
        {UINT64_C(0x7ff8000000000000), ".nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[NUMBER_ROOM];
        double value;
        memcpy(&value, &cases[i].bits, sizeof value);
        number_write(value, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_scalar_marks),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_alias_bound),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_random_changes),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_ints),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_float_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
