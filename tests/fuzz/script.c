#include "script.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "embed.h"
#include "host.h"

#define COUNTERS 65536

/* libFuzzer takes what lies in this section for coverage of its own. */
__attribute__((
    section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

/* A fuzz target is called without a context of its own. */
static struct {
    host_memory memory;
    diag *sink;
    host *host;
    embed_table files;
    FILE *null;
} the;

typedef struct input {
    const uint8_t *data;
    size_t n;
    script_after *after;
    void *user;
} input;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

/* --- files of the tests --------------------------------------------------- */

static unsigned char *read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 16);

    if (file == NULL || bytes == NULL) {
        die(path, "cannot be read");
    }
    *n = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const embed_file *)left)->name,
                  ((const embed_file *)right)->name);
}

/* What is embedded, and the driver as fuzz.lua. */
static void add_driver(const char *driver)
{
    const size_t n = embed_files.n_files;
    embed_file *files = malloc((n + 1) * sizeof *files);
    char path[256];

    snprintf(path, sizeof path, "tests/fuzz/%s", driver);
    if (files == NULL) {
        die(path, "no memory");
    }
    memcpy(files, embed_files.files, n * sizeof *files);
    files[n].name = "fuzz.lua";
    files[n].bytes = read_file(path, &files[n].size);
    qsort(files, n + 1, sizeof *files, by_name);
    the.files = (embed_table){files, n + 1};
}

/* --- the state ------------------------------------------------------------ */

/* Before the globals are sealed: host's files are those in memory. */
static int open_memory(lua_State *L)
{
    size_t n;
    unsigned char *text = read_file("tests/fuzz/memory.lua", &n);
    int status = luaL_loadbuffer(L, (char *)text, n, "@memory.lua");

    free(text);
    if (status != LUA_OK) {
        return lua_error(L);
    }
    lua_call(L, 0, 0);
    return 0;
}

static void count_line(lua_State *L, lua_Debug *ar)
{
    uint32_t hash;

    lua_getinfo(L, "S", ar);
    hash = (uint32_t)((uintptr_t)ar->source >> 4) * 2654435761u;
    hash += (uint32_t)ar->currentline * 40503u;
    counters[(hash ^ hash >> 16) % COUNTERS]++;
}

static int hook_lines(lua_State *L)
{
    lua_sethook(L, count_line, LUA_MASKLINE, 0);
    return 0;
}

static void check(host_status status)
{
    if (status != HOST_OK) {
        die("fuzz", status == HOST_INTERNAL ? host_fault(the.host)
                                            : "not enough memory");
    }
}

static int call_driver(lua_State *L)
{
    const input *in = lua_touserdata(L, 1);

    lua_settop(L, 0);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "fuzz");
    lua_call(L, 1, 1);
    lua_pushlstring(L, (const char *)in->data, in->n);
    lua_call(L, 1, LUA_MULTRET);
    if (in->after != NULL) {
        in->after(L, in->user);
    }
    return 0;
}

void script_open(const char *driver)
{
    static const lua_CFunction open[] = {bind_open, open_memory};
    host_setup setup = {.memory = &the.memory,
                        .files = &the.files,
                        .version = "0",
                        .open = open,
                        .n_open = 2};

    add_driver(driver);
    the.null = fopen("/dev/null", "w");
    the.sink = diag_create(host_alloc, &the.memory);
    setup.sink = the.sink;
    if (the.null == NULL || the.sink == NULL) {
        die("fuzz", "no memory");
    }
    check(host_create(&the.host, &setup));
    check(host_protect(the.host, hook_lines, NULL));
    script_call((const uint8_t *)"", 0, NULL, NULL);
}

void script_call(const uint8_t *data, size_t n, script_after *after, void *user)
{
    input in = {data, n, after, user};

    check(host_protect(the.host, call_driver, &in));
    diag_write(the.sink, getenv("FUZZ_SHOW") ? stderr : the.null);
}

diag *script_sink(void)
{
    return the.sink;
}
