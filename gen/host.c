#include "host.h"

#include <assert.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "hostlib.h"
#include "input.h"
#include "sandbox.h"

struct host {
    host_setup setup;
    lua_State *L;
    const char *fault; /* on the Lua stack */
};

/* Registry: what a result points to. Its address is the key. */
static const char kept_key = 0;

void *host_alloc(void *memory, void *old, size_t old_n, size_t n)
{
    const host_memory *m = memory;
    if (n == 0) {
        free(old);
        return NULL;
    }
    const bool shrinks = old && n <= old_n;
    if (!shrinks && m->refuse && m->refuse(m->user)) {
        return NULL;
    }
    void *block = realloc(old, n);
    return block || !shrinks ? block : old;
}

static host *host_of(lua_State *L)
{
    host *h;
    memcpy(&h, lua_getextraspace(L), sizeof h);
    return h;
}

const host_setup *host_setup_of(lua_State *L)
{
    return &host_of(L)->setup;
}

const char *host_fault(const host *h)
{
    return h->fault;
}

/* --- protected calls ------------------------------------------------------ */

/* The message handler: any error value as text with a traceback. */
static int explain(lua_State *L)
{
    const char *text = lua_tostring(L, 1);
    if (!text) {
        text = luaL_typename(L, 1);
    }
    luaL_traceback(L, L, text, 1);
    return 1;
}

host_status host_protect(host *h, lua_CFunction function, void *arg)
{
    lua_State *L = h->L;
    lua_settop(L, 0);
    lua_pushcfunction(L, explain);
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, arg);
    const int status = lua_pcall(L, 1, 0, 1);
    if (status == LUA_OK) {
        return HOST_OK;
    }
    if (status == LUA_ERRMEM) {
        return HOST_NO_MEMORY;
    }
    const char *fault =
        lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    h->fault = fault ? fault : "an error without text";
    return HOST_INTERNAL;
}

/* --- birth and death ------------------------------------------------------ */

static int open_all(lua_State *L)
{
    const host_setup *setup = host_setup_of(L);
    sandbox_open(L);
    hostlib_open(L);
    for (size_t i = 0; i < setup->n_open; i++) {
        lua_pushcfunction(L, setup->open[i]);
        lua_call(L, 0, 0);
    }
    sandbox_seal(L);
    return 0;
}

/* The collector starts anew when memory is this many percent of what it left:
 * a run is short, and what it builds stays to its end. */
#define GC_PAUSE 300

host_status host_create(host **made, const host_setup *setup)
{
    assert(setup->memory && setup->sink && setup->files && setup->version);
    host *h = host_alloc(setup->memory, NULL, 0, sizeof *h);
    *made = h;
    if (!h) {
        return HOST_NO_MEMORY;
    }
    *h = (host){.setup = *setup, .fault = ""};
    h->L = lua_newstate(host_alloc, setup->memory);
    if (!h->L) {
        return HOST_NO_MEMORY;
    }
    memcpy(lua_getextraspace(h->L), &h, sizeof h);
    lua_gc(h->L, LUA_GCINC, GC_PAUSE, 0, 0);
    return host_protect(h, open_all, NULL);
}

void host_destroy(host *h)
{
    if (!h) {
        return;
    }
    host_memory *memory = h->setup.memory;
    if (h->L) {
        lua_close(h->L);
    }
    host_alloc(memory, h, sizeof *h, 0);
}

/* --- results -------------------------------------------------------------- */

/* Keeps the value at the top as long as the state, and pops it. */
static void keep(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kept_key) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &kept_key);
    }
    lua_insert(L, -2);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
}

/* n * size bytes, kept. */
static void *keep_array(lua_State *L, size_t n, size_t size)
{
    void *array = lua_newuserdatauv(L, n * size, 0);
    keep(L);
    return array;
}

/* The string at the top, which a table keeps; without NUL bytes when n is
 * NULL. `what`: "path". */
static const char *take_string(lua_State *L, const char *what, size_t *n)
{
    size_t size;
    if (lua_type(L, -1) != LUA_TSTRING) {
        luaL_error(L, "result: %s is a %s, not a string", what,
                   luaL_typename(L, -1));
    }
    const char *text = lua_tolstring(L, -1, &size);
    if (n) {
        *n = size;
    } else if (strlen(text) != size) {
        luaL_error(L, "result: %s holds a NUL byte", what);
    }
    return text;
}

/* Pushes field `name` of the table at -1; false and nothing when missing. */
static bool push_table(lua_State *L, const char *name)
{
    const int type = lua_getfield(L, -1, name);
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return false;
    }
    if (type != LUA_TTABLE) {
        luaL_error(L, "result: %s is a %s, not a table", name,
                   luaL_typename(L, -1));
    }
    return true;
}

static int by_path(const void *left, const void *right)
{
    const tree_file *a = left;
    const tree_file *b = right;
    return strcmp(a->path, b->path);
}

static size_t count_fields(lua_State *L)
{
    size_t n = 0;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        n++;
    }
    return n;
}

/* {[path]=text} at the top. */
static void read_files(lua_State *L, tree_change *change)
{
    const size_t n = count_fields(L);
    tree_file *files = keep_array(L, n, sizeof *files);
    size_t i = 0;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        files[i].text = take_string(L, "a file's text", &files[i].n);
        lua_pop(L, 1);
        files[i].path = take_string(L, "a file's path", NULL);
        i++;
    }
    qsort(files, n, sizeof *files, by_path);
    change->files = files;
    change->n_files = n;
}

/* The array of strings at the top, kept; *n of them. */
static const char **read_strings(lua_State *L, const char *what, size_t *n)
{
    *n = lua_rawlen(L, -1);
    const char **strings = keep_array(L, *n, sizeof *strings);
    for (size_t i = 0; i < *n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        strings[i] = take_string(L, what, NULL);
        lua_pop(L, 1);
    }
    return strings;
}

static void read_tree(lua_State *L, tree_change *change)
{
    *change = (tree_change){0};
    if (!lua_istable(L, -1)) {
        luaL_error(L, "result: a tree is no table");
    }
    lua_getfield(L, -1, "root");
    change->root = take_string(L, "root", NULL);
    lua_pop(L, 1);
    if (push_table(L, "files")) {
        read_files(L, change);
        lua_pop(L, 1);
    }
    if (push_table(L, "remove")) {
        change->remove = read_strings(L, "a removed path", &change->n_remove);
        lua_pop(L, 1);
    }
}

/* The result at the top, which stays reachable. */
static void read_result(lua_State *L, host_result *result)
{
    lua_getfield(L, -1, "status");
    const lua_Integer status = lua_tointeger(L, -1);
    if (!lua_isinteger(L, -1) || status < 0 || status > 4) {
        luaL_error(L, "result: status is no integer from 0 to 4");
    }
    result->status = (int)status;
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "text") != LUA_TNIL) {
        result->text = take_string(L, "text", &result->n);
    }
    lua_pop(L, 1);
    if (!push_table(L, "trees")) {
        return;
    }
    const size_t n = lua_rawlen(L, -1);
    result->trees = keep_array(L, n, sizeof *result->trees);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        read_tree(L, &result->trees[i]);
        lua_pop(L, 1);
    }
    result->n_trees = n;
    lua_pop(L, 1);
}

/* --- a run ---------------------------------------------------------------- */

typedef struct call {
    const char *module;
    const char *command;
    host_push *push;
    const void *options;
    host_result *result;
} call;

static int run_call(lua_State *L)
{
    const call *c = lua_touserdata(L, 1);
    lua_getglobal(L, "require");
    lua_pushstring(L, c->module);
    lua_call(L, 1, 1);
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "run");
    }
    lua_pushstring(L, c->command);
    c->push(L, c->options);
    lua_call(L, 2, 1);
    if (!lua_istable(L, -1)) {
        return luaL_error(L, "run of module '%s' returns a %s, not a table",
                          c->module, luaL_typename(L, -1));
    }
    lua_pushvalue(L, -1);
    keep(L);
    c->result->unreadable = input_broken(L);
    read_result(L, c->result);
    return 0;
}

host_status host_run(host *h, const char *module, const char *command,
                     host_push *push, const void *options, host_result *result)
{
    call c = {module, command, push, options, result};
    *result = (host_result){.text = ""};
    return host_protect(h, run_call, &c);
}

typedef struct inputs {
    const char *const **paths;
    size_t *n;
} inputs;

static int read_inputs(lua_State *L)
{
    const inputs *to = lua_touserdata(L, 1);
    input_paths(L);
    lua_pushvalue(L, -1);
    keep(L);
    *to->paths = read_strings(L, "a path", to->n);
    return 0;
}

host_status host_inputs(host *h, const char *const **paths, size_t *n)
{
    inputs to = {paths, n};
    return host_protect(h, read_inputs, &to);
}
