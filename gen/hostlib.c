#include "hostlib.h"

#include <lauxlib.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/sha256.h"
#include "host.h"
#include "input.h"
#include "marked.h"
#include "near.h"
#include "number.h"
#include "sandbox.h"
#include "token.h"

static diag *sink_of(lua_State *L)
{
    return host_setup_of(L)->sink;
}

/* The string argument `arg`, without NUL bytes. */
static const char *check_path(lua_State *L, int arg)
{
    size_t n;
    const char *path = luaL_checklstring(L, arg, &n);
    luaL_argcheck(L, strlen(path) == n, arg, "a path holds a NUL byte");
    return path;
}

/* --- files ---------------------------------------------------------------- */

/* nil before the message at the top, or the value at the top. */
static int result(lua_State *L, bool good)
{
    if (good) {
        return 1;
    }
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int host_read(lua_State *L)
{
    return result(L, input_read(L, check_path(L, 1), INPUT_BYTES_MAX));
}

static int host_list(lua_State *L)
{
    return result(L, input_list(L, check_path(L, 1)));
}

static int host_is_dir(lua_State *L)
{
    lua_pushboolean(L, input_is_dir(check_path(L, 1)));
    return 1;
}

static int host_yaml(lua_State *L)
{
    size_t n;
    const char *path = check_path(L, 1);
    if (!input_read(L, path, MARKED_BYTES_MAX)) {
        diag_add(sink_of(L), path, 0, 0, "%s", lua_tostring(L, -1));
        lua_pushnil(L);
        return 1;
    }
    const char *text = lua_tolstring(L, -1, &n);
    marked_load(L, sink_of(L), path, text, n);
    return 1;
}

static int host_yaml_text(lua_State *L)
{
    size_t n;
    const char *path = check_path(L, 1);
    const char *text = luaL_checklstring(L, 2, &n);
    marked_load(L, sink_of(L), path, text, n);
    return 1;
}

static int host_embedded(lua_State *L)
{
    const char *name = check_path(L, 1);
    const embed_file *file = embed_find(host_setup_of(L)->files, name);
    if (file) {
        lua_pushlstring(L, (const char *)file->bytes, file->size);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

/* --- messages ------------------------------------------------------------- */

/* A line or column; what no int holds is shown as the last one that does. */
static int check_place(lua_State *L, int arg)
{
    const lua_Integer value = luaL_optinteger(L, arg, 0);
    luaL_argcheck(L, value >= 0, arg, "a place is not negative");
    return value > INT_MAX ? INT_MAX : (int)value;
}

static int host_error(lua_State *L)
{
    const char *path = luaL_optstring(L, 1, "");
    const int line = check_place(L, 2);
    const int col = check_place(L, 3);
    diag_add(sink_of(L), path, line, col, "%s", luaL_checkstring(L, 4));
    return 0;
}

static int host_errors(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)diag_count(sink_of(L)));
    return 1;
}

/* --- text ----------------------------------------------------------------- */

static int host_sha256(lua_State *L)
{
    size_t n;
    char hex[65];
    const char *text = luaL_checklstring(L, 1, &n);
    kiln_sha256_hex(text, n, hex);
    lua_pushstring(L, hex);
    return 1;
}

/* (bytes, size as integer): pushes them as a string. */
static int push_bytes(lua_State *L)
{
    lua_pushlstring(L, lua_touserdata(L, 1), (size_t)lua_tointeger(L, 2));
    return 1;
}

static int host_tokens(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    luaL_checkstack(L, 4, NULL);
    char *tokens = token_canonical(text, n, &n);
    if (!tokens) {
        return sandbox_no_memory(L);
    }
    lua_pushcfunction(L, push_bytes);
    lua_pushlightuserdata(L, tokens);
    lua_pushinteger(L, (lua_Integer)n);
    const int status = lua_pcall(L, 2, 1, 0);
    free(tokens);
    return status == LUA_OK ? 1 : sandbox_no_memory(L);
}

static int host_int(lua_State *L)
{
    size_t n;
    int64_t value;
    const char *text = luaL_checklstring(L, 1, &n);
    if (number_int(text, n, &value)) {
        lua_pushinteger(L, value);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

static int host_number(lua_State *L)
{
    size_t n;
    double value;
    const char *text = luaL_checklstring(L, 1, &n);
    if (number_float(text, n, &value)) {
        lua_pushnumber(L, value);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

static int host_float(lua_State *L)
{
    char text[NUMBER_ROOM];
    luaL_checktype(L, 1, LUA_TNUMBER);
    number_write(lua_tonumber(L, 1), text);
    lua_pushstring(L, text);
    return 1;
}

static int host_compile(lua_State *L)
{
    size_t n;
    const char *chunk = luaL_checkstring(L, 1);
    const char *text = luaL_checklstring(L, 2, &n);
    lua_settop(L, 3);
    if (sandbox_load(L, text, n, chunk) != LUA_OK) {
        return result(L, false);
    }
    if (!lua_isnil(L, 3)) {
        lua_pushvalue(L, 3);
        lua_setupvalue(L, -2, 1);
    }
    return 1;
}

/* --- require -------------------------------------------------------------- */

/* The name of a module's file is pushed. */
static const char *push_file_name(lua_State *L, const char *module)
{
    luaL_gsub(L, module, ".", "/");
    lua_pushliteral(L, ".lua");
    lua_concat(L, 2);
    return lua_tostring(L, -1);
}

/* The embedded file whose name is nearest, or NULL. */
static const embed_file *nearest(const embed_table *table, const char *name)
{
    const embed_file *best = NULL;
    size_t least = NEAR_LIMIT(strlen(name)) + 1;
    for (size_t i = 0; i < table->n_files; i++) {
        const size_t distance = near_distance(name, table->files[i].name);
        if (distance < least) {
            least = distance;
            best = &table->files[i];
        }
    }
    return best;
}

static int no_module(lua_State *L, const char *module, const char *name)
{
    const embed_file *near = nearest(host_setup_of(L)->files, name);
    if (!near) {
        return luaL_error(L, "no module '%s'", module);
    }
    const size_t n = strlen(near->name);
    const size_t kept =
        n > 4 && strcmp(near->name + n - 4, ".lua") == 0 ? n - 4 : n;
    lua_pushlstring(L, near->name, kept);
    luaL_gsub(L, lua_tostring(L, -1), "/", ".");
    return luaL_error(L, "no module '%s'; nearest: %s", module,
                      lua_tostring(L, -1));
}

/* Pushes what the module's chunk returns, true for nothing. */
static void run_module(lua_State *L, const char *module)
{
    const char *name = push_file_name(L, module);
    const embed_file *file = embed_find(host_setup_of(L)->files, name);
    if (!file) {
        no_module(L, module, name);
        return;
    }
    const char *chunk = lua_pushfstring(L, "@lua/%s", name);
    const int status =
        sandbox_load(L, (const char *)file->bytes, file->size, chunk);
    if (status != LUA_OK) {
        lua_error(L);
    }
    lua_pushstring(L, module);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1)) {
        lua_pushboolean(L, 1);
        lua_replace(L, -2);
    }
}

/* Upvalue 1: what was required, by name; false: its chunk is running. */
static int require(lua_State *L)
{
    const char *module = luaL_checkstring(L, 1);
    const int loaded = lua_upvalueindex(1);
    lua_settop(L, 1);
    const int type = lua_getfield(L, loaded, module);
    if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1)) {
        return luaL_error(L, "module '%s' requires itself", module);
    }
    if (type != LUA_TNIL) {
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_setfield(L, loaded, module);
    run_module(L, module);
    lua_pushvalue(L, -1);
    lua_setfield(L, loaded, module);
    return 1;
}

void hostlib_open(lua_State *L)
{
    static const luaL_Reg functions[] = {{"compile", host_compile},
                                         {"embedded", host_embedded},
                                         {"error", host_error},
                                         {"errors", host_errors},
                                         {"float", host_float},
                                         {"int", host_int},
                                         {"is_dir", host_is_dir},
                                         {"list", host_list},
                                         {"number", host_number},
                                         {"read", host_read},
                                         {"sha256", host_sha256},
                                         {"tokens", host_tokens},
                                         {"yaml", host_yaml},
                                         {"yaml_text", host_yaml_text},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushstring(L, host_setup_of(L)->version);
    lua_setfield(L, -2, "version");
    lua_setglobal(L, "host");
    lua_newtable(L);
    lua_pushcclosure(L, require, 1);
    lua_setglobal(L, "require");
}
