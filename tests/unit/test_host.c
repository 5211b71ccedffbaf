/* sources: gen/host.c gen/hostlib.c gen/input.c gen/sandbox.c gen/order.c
 *          gen/marked.c gen/syntax.c gen/text.c gen/number.c gen/near.c
 *          gen/diag.c runtime/core/sha256.c gen/token.c */
/* libs: -llua5.4 -lyaml */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

/* --- running a script ----------------------------------------------------- */

#define HEAD "return function(command, options) local function body() "
#define TAIL                                                                   \
    " end local v = body() "                                                   \
    "if type(v) == 'table' then return v end "                                 \
    "return {status = 0, text = tostring(v)} end"

typedef struct session {
    host_memory memory;
    diag *sink;
    host *host;
    host_result result;
    embed_file files[8];
    embed_table table;
    char *main;
} session;

static embed_file file(const char *name, const char *text)
{
    return (embed_file){name, (const unsigned char *)text, strlen(text)};
}

static void no_options(lua_State *L, const void *options)
{
    (void)options;
    lua_newtable(L);
}

static int set_core(lua_State *L)
{
    lua_newtable(L);
    lua_pushinteger(L, 7);
    lua_setfield(L, -2, "seven");
    lua_setglobal(L, "core");
    return 0;
}

static void prepare(session *s, const char *body)
{
    const size_t n = strlen(HEAD) + strlen(body) + strlen(TAIL) + 1;
    s->main = malloc(n);
    snprintf(s->main, n, "%s%s%s", HEAD, body, TAIL);
    s->files[0] = file("broken.lua", "local x = = 1");
    s->files[1] = file("data.txt", "some data\n");
    s->files[2] = file("family/pool/init.lua", "return {name = ...}");
    s->files[3] = file("loop.lua", "return require 'loop'");
    s->files[4] = file("main.lua", s->main);
    s->files[5] = file("none.lua", "local x = 1");
    s->files[6] = file("raise.lua", "error 'raised'");
    s->table = (embed_table){s->files, 7};
}

/* Runs `body`, a function's text, in a new host. Its value, or the table it
 * returns, is the result. */
static host_status run(session *s, const char *body)
{
    static const lua_CFunction open[] = {set_core};
    prepare(s, body);
    s->sink = diag_create(host_alloc, &s->memory);
    if (!s->sink) {
        return HOST_NO_MEMORY;
    }
    const host_setup setup = {.memory = &s->memory,
                              .sink = s->sink,
                              .files = &s->table,
                              .version = "1.2.3",
                              .open = open,
                              .n_open = 1};
    const host_status status = host_create(&s->host, &setup);
    if (status != HOST_OK) {
        return status;
    }
    return host_run(s->host, "main", "gen", no_options, NULL, &s->result);
}

static void end(session *s)
{
    host_destroy(s->host);
    diag_destroy(s->sink);
    free(s->main);
    *s = (session){0};
}

static void expect(const char *body, const char *want)
{
    session s = {0};
    const host_status status = run(&s, body);
    if (status != HOST_OK) {
        fail_msg("%s\nfailed: %s", body, host_fault(s.host));
    }
    if (strcmp(s.result.text, want) != 0) {
        fail_msg("%s\ngave: %s\nwant: %s", body, s.result.text, want);
    }
    end(&s);
}

/* `part` stands in the first line of the fault. */
static void expect_fault(const char *body, const char *part)
{
    session s = {0};
    const host_status status = run(&s, body);
    if (status != HOST_INTERNAL || !strstr(host_fault(s.host), part)) {
        fail_msg("%s\ngave: %s\nwant: %s", body,
                 status == HOST_OK ? s.result.text : host_fault(s.host), part);
    }
    end(&s);
}

typedef struct pair {
    const char *body;
    const char *want;
} pair;

#define EACH(cases, check)                                                     \
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {              \
        check(cases[i].body, cases[i].want);                                   \
    }

/* --- the sandbox ---------------------------------------------------------- */

static void test_globals(void **state)
{
    (void)state;
    static const pair values[] = {
        {"return tostring(os) .. tostring(io) .. tostring(load) .. "
         "tostring(debug) .. tostring(package) .. tostring(print)",
         "nilnilnilnilnilnil"},
        {"return tostring(dofile) .. tostring(loadfile) .. "
         "tostring(collectgarbage) .. tostring(coroutine) .. "
         "tostring(rawset) .. tostring(_G)",
         "nilnilnilnilnilnil"},
        {"return tostring(math.random) .. tostring(math.randomseed) .. "
         "tostring(string.dump)",
         "nilnilnil"},
        {"return ('x'):upper() .. ('%d'):format(3) .. #'abc'", "X33"},
        {"return core.seven", "7"},
        {"return command", "gen"},
        {"local _ENV = {}; return x == nil", "true"},
        {"return getmetatable('')", "false"},
        {"return getmetatable(_ENV)", "false"},
        {"return getmetatable(string)", "false"},
        {"local t = setmetatable({}, {__index = {a = 1}}) return t.a", "1"},
        {"return select('#', pcall(error))", "2"},
        {"return select(2, pcall(error, {a = 'x'})).a", "x"},
        {"return select(3, pcall(select, 2, 'a', 'b', 'c'))", "c"},
        {"return tostring(pcall(error, 'e'))", "false"},
    };
    static const pair faults[] = {
        {"x = 1", "cannot set 'x': globals are read-only"},
        {"_ENV.y = 1", "cannot set 'y': globals are read-only"},
        {"string.format = 1", "cannot set 'format': string is read-only"},
        {"core.seven = 8", "cannot set 'seven': core is read-only"},
        {"host.extra = 8", "cannot set 'extra': host is read-only"},
        {"table.insert(table, 1)", "cannot set '1': table is read-only"},
        {"setmetatable(string, {})", "cannot change a protected metatable"},
        {"local s = 'x'; s.y = 1", "attempt to index a string value"},
        {"setmetatable({}, {__gc = 1})", "__gc is refused"},
        {"setmetatable({}, {__mode = 'k'})", "__mode is refused"},
        {"pcall()", "bad argument #1 to 'pcall'"},
    };
    EACH(values, expect)
    EACH(faults, expect_fault)
}

static void test_no_addresses(void **state)
{
    (void)state;
    static const pair values[] = {
        {"return tostring({}) .. tostring(print or tostring)", "tablefunction"},
        {"return string.format('%s %5s %-9s| %%', {}, 1, pairs)",
         "table     1 function | %"},
        {"return ('%s'):format({})", "table"},
        {"return tostring(setmetatable({}, {__name = 'N'}))", "table"},
        {"return tostring(setmetatable({}, {__tostring = function() "
         "return 'own' end}))",
         "own"},
        {"return string.format('%s', setmetatable({}, {__tostring = "
         "function() return 'own' end}))",
         "own"},
        {"return string.format('%d %5.2f %q %s %s', 3, 2.5, 'a', nil, true)",
         "3  2.50 \"a\" nil true"},
        {"return string.format('100%%')", "100%"},
        {"return select(2, pcall(function() return {} .. 'x' end))",
         "lua/main.lua:1: attempt to concatenate a table value"},
    };
    static const pair faults[] = {
        {"return string.format('%p', {})", "%p is refused"},
        {"return string.format('%-20p', {})", "%p is refused"},
        {"return string.format('%%%s%5p', 1, {})", "%p is refused"},
        {"return string.format('%', 1)", "invalid conversion"},
        {"return string.format('%s')", "bad argument #2"},
        {"error({})", "table\nstack traceback:"},
    };
    EACH(values, expect)
    EACH(faults, expect_fault)
}

/* --- order ---------------------------------------------------------------- */

#define JOIN_KEYS                                                              \
    "local out = {} for k, v in pairs(t) do "                                  \
    "out[#out + 1] = tostring(k) .. '=' .. tostring(v) end "                   \
    "return table.concat(out, ' ')"

static void test_pairs(void **state)
{
    (void)state;
    static const pair values[] = {
        {"local t = {}" JOIN_KEYS, ""},
        {"local t = {3, 2, 1}" JOIN_KEYS, "1=3 2=2 3=1"},
        {"local t = {b = 1, a = 2, B = 3, ab = 4, ['a\\0'] = 5, [''] = 6}"
         "local out = {} for _, v in pairs(t) do out[#out + 1] = v end "
         "return table.concat(out, ' ')",
         "6 3 2 5 4 1"},
        {"local t = {x = 1, [2] = 2, [-1] = 3, [1.5] = 4, [1] = 5, "
         "[math.huge] = 6, [-math.huge] = 7, [math.maxinteger] = 8, "
         "[math.mininteger] = 9, [2^63] = 10, [-1.5] = 11}"
         "local out = {} for _, v in pairs(t) do out[#out + 1] = v end "
         "return table.concat(out, ' ')",
         "7 9 11 3 5 4 2 8 10 6 1"},
        {"local t = {['\xC3\xA9'] = 1, z = 2, ['\xFF'] = 3}"
         "local out = {} for _, v in pairs(t) do out[#out + 1] = v end "
         "return table.concat(out, ' ')",
         "2 1 3"},
        {"local t = {a = 1, b = 2, c = 3} local out = '' "
         "for k in pairs(t) do out = out .. k t.b = nil t.d = 4 end "
         "return out",
         "ac"},
        {"local t = {1, 2, 3} local out = '' "
         "for k in pairs(t) do out = out .. k t[2] = nil t[4] = 4 end "
         "return out",
         "13"},
        {"local t = {a = 1, b = 2, [1] = 0} local out = '' local k, v = "
         "next(t) while k do out = out .. k .. v k, v = next(t, k) end "
         "return out",
         "10a1b2"},
        {"return tostring(next({})) .. next({z = 1, y = 2})", "nily"},
        {"return next({a = 1, c = 2}, 'b')", "c"},
        {"local t = {} for i = 1, 100 do t['k' .. i] = i end local n = 0 "
         "local last = '' for k in pairs(t) do assert(last < k) last = k "
         "n = n + 1 end return n",
         "100"},
    };
    static const pair faults[] = {
        {"pairs({[true] = 1})", "a table with a boolean as key has no order"},
        {"pairs({[{}] = 1, 2})", "a table with a table as key has no order"},
        {"next({[print or next] = 1})", "a function as key has no order"},
        {"pairs(nil)", "bad argument #1 to 'pairs'"},
        {"local f = pairs({1}) f(nil, 0)", "table expected"},
        {"local f = pairs({a = 1}) f(5, 0)", "table expected"},
    };
    EACH(values, expect)
    EACH(faults, expect_fault)
}

static void test_sort(void **state)
{
    (void)state;
    static const pair values[] = {
        {"local t = {3, 1, 2} table.sort(t) return table.concat(t, ' ')",
         "1 2 3"},
        {"local t = {'b', 'B', 'a', '', 'ab'} table.sort(t) "
         "return table.concat(t, ' ')",
         " B a ab b"},
        {"local t = {} table.sort(t) return #t", "0"},
        /* Equal ones keep their order: by tens alone. */
        {"local t = {31, 12, 30, 11, 32, 10, 20} table.sort(t, "
         "function(a, b) return a // 10 < b // 10 end) "
         "return table.concat(t, ' ')",
         "12 11 10 20 31 30 32"},
        {"local t = {1, 2, 3} table.sort(t, function() return true end) "
         "return #t",
         "3"},
        {"local t, x = {}, 1 for i = 1, 1000 do x = x * 16807 % 2147483647 "
         "t[i] = x end table.sort(t) for i = 2, 1000 do "
         "assert(t[i - 1] <= t[i]) end return #t",
         "1000"},
    };
    static const pair faults[] = {
        {"table.sort({1, 'a'})", "attempt to compare"},
        {"table.sort({1}, 5)", "function expected"},
        {"table.sort({2, 1}, function() error 'no' end)", "no"},
    };
    EACH(values, expect)
    EACH(faults, expect_fault)
}

/* --- require -------------------------------------------------------------- */

static void test_require(void **state)
{
    (void)state;
    static const pair values[] = {
        {"return require('family.pool.init').name", "family.pool.init"},
        {"return require('family.pool.init') == "
         "require('family.pool.init')",
         "true"},
        {"return require 'none'", "true"},
        {"return host.embedded('data.txt')", "some data\n"},
        {"return host.embedded('date.txt')", "nil"},
    };
    static const pair faults[] = {
        {"require 'os'", "no module 'os'"},
        {"require 'famly.pool.init'",
         "no module 'famly.pool.init'; nearest: family.pool.init"},
        {"require 'family/../data'", "no module"},
        {"require 'loop'", "module 'loop' requires itself"},
        {"require 'broken'", "lua/broken.lua:1: unexpected symbol"},
        {"require 'raise'", "lua/raise.lua:1: raised"},
    };
    EACH(values, expect)
    EACH(faults, expect_fault)
}

/* --- host ----------------------------------------------------------------- */

static void test_text_functions(void **state)
{
    (void)state;
    static const pair values[] = {
        /* FIPS 180-4, example of one block. */
        {"return host.sha256('abc')", "ba7816bf8f01cfea414140de5dae2223"
                                      "b00361a396177a9cb410ff61f20015ad"},
        {"return host.tokens('int  a ; /* x */') == host.tokens('int a;')",
         "true"},
        {"return host.int('9223372036854775807') == math.maxinteger", "true"},
        {"return tostring(host.int('1e3')) .. math.type(host.int('7'))",
         "nilinteger"},
        {"return host.number('1e-5') == 1e-5", "true"},
        {"return math.type(host.number('5')) .. "
         "tostring(host.number('0x5'))",
         "floatnil"},
        {"return host.float(0.1) .. ' ' .. host.float(3) .. ' ' .. "
         "host.float(1e300)",
         "0.1 3.0 1e+300"},
        {"return host.version", "1.2.3"},
        {"return host.compile('=c', 'return 1 + ...')(2)", "3"},
        {"return host.compile('=c', 'return x', {x = 5})()", "5"},
        {"return host.compile('=c', 'return tostring(os)')()", "nil"},
        {"return select(2, host.compile('=c', '\\nx =='))",
         "c:2: syntax error near '=='"},
        {"return select(2, host.compile('=c', '\\27Lua'))",
         "attempt to load a binary chunk (mode is 't')"},
        {"return pcall(host.compile('=c', 'x = 1'))", "false"},
    };
    static const pair faults[] = {
        {"host.float('1')", "number expected"},
        {"host.read('a\\0b')", "a path holds a NUL byte"},
        {"host.error('p', -1, 0, 'x')", "a place is not negative"},
    };
    EACH(values, expect)
    EACH(faults, expect_fault)
}

static void test_messages(void **state)
{
    (void)state;
    session s = {0};
    assert_int_equal(
        run(&s, "host.error('b.yaml', 2, 3, 'second') "
                "host.error('a.yaml', 0, 0, 'first') "
                "host.error('b.yaml', 2, 1, '%s') "
                "local node = host.yaml_text('c.yaml', 'a: 1\\na: 2\\n') "
                "assert(node == nil) return host.errors()"),
        HOST_OK);
    assert_string_equal(s.result.text, "4");
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    diag_write(s.sink, to);
    fclose(to);
    assert_string_equal(text,
                        "a.yaml: first\nb.yaml:2:1: %s\nb.yaml:2:3: second\n"
                        "c.yaml:2:1: duplicate key a (first at line 1)\n");
    free(text);
    end(&s);
}

/* --- files ---------------------------------------------------------------- */

static char folder[] = "/tmp/kiln_host_XXXXXX";

static void write_file(const char *name, const char *text)
{
    FILE *to = fopen(name, "wb");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

static int enter_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("d", 0777), 0);
    write_file("d/b.yaml", "x: [1, two]\n");
    write_file("d/a b", "text");
    write_file("d/B", "");
    assert_int_equal(mkfifo("fifo", 0666), 0);
    write_file("big", "");
    assert_int_equal(truncate("big", (17 << 20)), 0);
    write_file("huge", "");
    assert_int_equal(truncate("huge", ((off_t)1 << 28) + 1), 0);
    write_file("utf16.yaml", "\xFF\xFE"
                             "a");
    return 0;
}

static int leave_folder(void **state)
{
    (void)state;
    static const char *const names[] = {
        "d/b.yaml", "d/a b", "d/B", "d", "fifo", "big", "huge", "utf16.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        remove(names[i]);
    }
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void test_files(void **state)
{
    (void)state;
    static const pair values[] = {
        {"return host.read('d/a b')", "text"},
        {"return host.read('d/B') == ''", "true"},
        {"return select(2, host.read('none'))",
         "cannot be read: No such file or directory"},
        {"return select(2, host.read('d'))", "is a folder, not a file"},
        {"return select(2, host.read('fifo'))", "is not a plain file"},
        {"return #host.read('big')", "17825792"},
        {"return select(2, host.read('huge'))", "larger than 256 MB"},
        {"return table.concat(host.list('d'), '|')", "B|a b|b.yaml"},
        {"return select(2, host.list('none'))",
         "cannot be read: No such file or directory"},
        {"return select(2, host.list('big'))",
         "cannot be read: Not a directory"},
        {"return tostring(host.is_dir('d')) .. tostring(host.is_dir('big')) "
         ".. tostring(host.is_dir('none'))",
         "truefalsefalse"},
        {"local n = host.yaml('d/b.yaml') return n.kind .. n[1].key.text .. "
         "n[1].value[2].text .. n[1].value[2].col .. n.path",
         "mapxtwo8d/b.yaml"},
    };
    EACH(values, expect)
}

static void test_bad_yaml_files(void **state)
{
    (void)state;
    static const pair cases[] = {
        {"none", "none: cannot be read: No such file or directory\n"},
        {"d", "d: is a folder, not a file\n"},
        {"d/B", "d/B:1:1: empty file\n"},
        {"big", "big: larger than 16 MB\n"},
        {"fifo", "fifo: is not a plain file\n"},
        {"utf16.yaml", "utf16.yaml:1:1: UTF-16 text; save the file as UTF-8\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        session s = {0};
        char body[100];
        char *text;
        size_t n;
        snprintf(body, sizeof body, "return host.yaml('%s')", cases[i].body);
        assert_int_equal(run(&s, body), HOST_OK);
        assert_string_equal(s.result.text, "nil");
        FILE *to = open_memstream(&text, &n);
        diag_write(s.sink, to);
        fclose(to);
        assert_string_equal(text, cases[i].want);
        free(text);
        end(&s);
    }
}

static void test_inputs(void **state)
{
    (void)state;
    session s = {0};
    const char *const *paths;
    size_t n;
    assert_int_equal(run(&s, "host.yaml('d/b.yaml') host.read('none') "
                             "host.read('d/B') host.list('d') "
                             "host.read('d/B') host.is_dir('.') "
                             "host.yaml('big') return 1"),
                     HOST_OK);
    assert_int_equal(host_inputs(s.host, &paths, &n), HOST_OK);
    assert_int_equal(n, 3);
    assert_string_equal(paths[0], "d");
    assert_string_equal(paths[1], "d/B");
    assert_string_equal(paths[2], "d/b.yaml");
    end(&s);
}

/* --- results -------------------------------------------------------------- */

static void test_result(void **state)
{
    (void)state;
    session s = {0};
    assert_int_equal(
        run(&s, "return {status = 3, text = 'a\\0b', trees = {{root = 'out', "
                "files = {b = '2', ['a/c'] = '', a = 'x\\0'}, remove = "
                "{'z', 'y'}}, {root = 'r'}}}"),
        HOST_OK);
    const host_result *r = &s.result;
    assert_int_equal(r->status, 3);
    assert_int_equal(r->n, 3);
    assert_memory_equal(r->text, "a\0b", 3);
    assert_int_equal(r->n_trees, 2);
    const tree_change *t = &r->trees[0];
    assert_string_equal(t->root, "out");
    assert_int_equal(t->n_files, 3);
    assert_string_equal(t->files[0].path, "a");
    assert_int_equal(t->files[0].n, 2);
    assert_string_equal(t->files[1].path, "a/c");
    assert_int_equal(t->files[1].n, 0);
    assert_string_equal(t->files[2].text, "2");
    assert_int_equal(t->n_remove, 2);
    assert_string_equal(t->remove[0], "z");
    assert_int_equal(r->trees[1].n_files, 0);
    end(&s);
}

static void test_bad_results(void **state)
{
    (void)state;
    static const pair faults[] = {
        {"return {}", "status is no integer from 0 to 4"},
        {"return {status = 5}", "status is no integer from 0 to 4"},
        {"return {status = 0, text = 5}", "text is a number"},
        {"return {status = 0, trees = 5}", "trees is a number"},
        {"return {status = 0, trees = {5}}", "a tree is no table"},
        {"return {status = 0, trees = {{}}}", "root is a nil"},
        {"return {status = 0, trees = {{root = 'o', files = {'x'}}}}",
         "a file's path is a number"},
        {"return {status = 0, trees = {{root = 'o', files = {x = 1}}}}",
         "a file's text is a number"},
        {"return {status = 0, trees = {{root = 'a\\0'}}}",
         "root holds a NUL byte"},
        {"error 'boom'", "lua/main.lua:1: boom\nstack traceback:"},
        {"local function f() return f() + 1 end f()", "stack overflow"},
        {"local t = setmetatable({}, {}) getmetatable(t).__index = t "
         "return t.x",
         "loop"},
    };
    EACH(faults, expect_fault)
}

/* --- memory --------------------------------------------------------------- */

/* Refuses the n-th request and all after it. */
static bool refuse_from(void *user)
{
    long *left = user;
    return (*left)-- <= 0;
}

/* Refuses the n-th request alone: Lua may collect and try again. */
static bool refuse_once(void *user)
{
    long *left = user;
    return (*left)-- == 0;
}

static const char busy[] =
    "local t = {} for i = 1, 50 do t['k' .. i] = {i} end "
    "local ok, why = pcall(function() for k, v in pairs(t) do "
    "t[k] = string.format('%s %d', k, v[1]) end end) "
    "if not ok then return {status = 4} end "
    "local list = host.list('d') table.sort(list) "
    "local n = host.yaml('d/b.yaml') assert(n) host.read('d/a b') "
    "host.error('p', 1, 1, 'm') host.tokens('int a;') "
    "return {status = 0, text = host.float(0.5), trees = {{root = 'o', "
    "files = {a = 'b', c = 'd'}, remove = {'e'}}}}";

static void test_no_memory(void **state)
{
    (void)state;
    bool (*const refuse[])(void *) = {refuse_from, refuse_once};
    for (size_t i = 0; i < 2; i++) {
        host_status status = HOST_NO_MEMORY;
        bool clean = false;
        for (long n = 0; !clean; n++) {
            long left = n;
            session s = {.memory = {refuse[i], &left}};
            status = run(&s, busy);
            clean = left > 0;
            if (status == HOST_OK) {
                assert_int_equal(s.result.status, 0);
                assert_string_equal(s.result.text, "0.5");
            } else {
                assert_int_equal(status, HOST_NO_MEMORY);
            }
            s.memory.refuse = NULL;
            end(&s);
            assert_true(n < 100000);
        }
        assert_int_equal(status, HOST_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_globals),
        cmocka_unit_test(test_no_addresses),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_require),
        cmocka_unit_test(test_text_functions),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bad_yaml_files),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_bad_results),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
