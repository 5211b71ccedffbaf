#include "sandbox.h"

#include <assert.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <string.h>

#include "order.h"

/* Registry: the read-only face of the globals. Its address is the key. */
static const char env_key = 0;

int sandbox_no_memory(lua_State *L)
{
    lua_pushliteral(L, "not enough memory");
    return lua_error(L);
}

/* --- text without addresses ---------------------------------------------- */

/* Pushes the value at index i as text. */
static void push_text(lua_State *L, int i)
{
    const int type = lua_type(L, i);
    const bool plain = type == LUA_TNIL || type == LUA_TBOOLEAN ||
                       type == LUA_TNUMBER || type == LUA_TSTRING;
    const int field = luaL_getmetafield(L, i, "__tostring");
    if (field != LUA_TNIL) {
        lua_pop(L, 1);
    }
    if (plain || field != LUA_TNIL) {
        luaL_tolstring(L, i, NULL);
    } else {
        lua_pushstring(L, lua_typename(L, type));
    }
}

static int safe_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    push_text(L, 1);
    return 1;
}

/* The conversion letter of the directive after a '%', and where it stands. */
static const char *conversion(const char *at)
{
    return at + strspn(at, "-+ #0123456789.");
}

/* string.format; upvalue 1 is the library's. Only %s shows tables. */
static int safe_format(lua_State *L)
{
    const char *format = luaL_checkstring(L, 1);
    int arg = 1;
    for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
        at = conversion(at + 1);
        if (*at == 'p') {
            return luaL_error(L, "%%p is refused: it shows an address");
        }
        if (*at == '\0') {
            break;
        }
        if (*at != '%' && ++arg <= lua_gettop(L) && *at == 's') {
            push_text(L, arg);
            lua_replace(L, arg);
        }
        at++;
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

/* --- base functions ------------------------------------------------------- */

/* A failed allocation is no error that a script could answer. */
static int safe_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    const int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
    if (status == LUA_ERRMEM) {
        return sandbox_no_memory(L);
    }
    if (status != LUA_OK) {
        lua_pushboolean(L, 0);
        lua_insert(L, -2);
        return 2;
    }
    return lua_gettop(L);
}

/* setmetatable; upvalue 1 is the library's. */
static int safe_setmetatable(lua_State *L)
{
    static const char *const refused[] = {"__gc", "__mode", NULL};
    lua_settop(L, 2);
    for (int i = 0; lua_istable(L, 2) && refused[i]; i++) {
        lua_pushstring(L, refused[i]);
        if (lua_rawget(L, 2) != LUA_TNIL) {
            return luaL_error(L,
                              "%s is refused: it shows when memory is "
                              "collected",
                              refused[i]);
        }
        lua_pop(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

/* --- the global table ----------------------------------------------------- */

/* Copies the named fields of the table at -2 into the one at -1. */
static void copy_fields(lua_State *L, const char *const *names)
{
    for (; *names; names++) {
        const int type = lua_getfield(L, -2, *names);
        assert(type != LUA_TNIL);
        (void)type;
        lua_setfield(L, -2, *names);
    }
}

/* Wraps field `name` of the table at -1: the old value becomes upvalue 1. */
static void wrap(lua_State *L, const char *name, lua_CFunction function)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

/* Pushes a new table with the named functions of a library. */
static void open_library(lua_State *L, const char *library, lua_CFunction open,
                         const char *const *names)
{
    luaL_requiref(L, library, open, 0);
    lua_newtable(L);
    copy_fields(L, names);
    lua_remove(L, -2);
}

static void open_base(lua_State *L)
{
    static const char *const names[] = {
        "assert", "error",  "getmetatable", "ipairs", "rawequal",     "rawget",
        "rawlen", "select", "tonumber",     "type",   "setmetatable", NULL};
    static const luaL_Reg own[] = {{"next", order_next},
                                   {"pairs", order_pairs},
                                   {"pcall", safe_pcall},
                                   {"tostring", safe_tostring},
                                   {NULL, NULL}};
    open_library(L, LUA_GNAME, luaopen_base, names);
    luaL_setfuncs(L, own, 0);
    wrap(L, "setmetatable", safe_setmetatable);
}

/* Field string of the table at -1, and the metatable of all strings. */
static void open_string(lua_State *L)
{
    static const char *const names[] = {
        "byte",    "char",  "find",   "format", "gmatch",   "gsub",
        "len",     "lower", "match",  "pack",   "packsize", "rep",
        "reverse", "sub",   "unpack", "upper",  NULL};
    open_library(L, LUA_STRLIBNAME, luaopen_string, names);
    wrap(L, "format", safe_format);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
    lua_setfield(L, -2, LUA_STRLIBNAME);
}

static void open_table(lua_State *L)
{
    static const char *const names[] = {"concat", "insert", "move", "pack",
                                        "remove", "unpack", NULL};
    open_library(L, LUA_TABLIBNAME, luaopen_table, names);
    lua_pushcfunction(L, order_sort);
    lua_setfield(L, -2, "sort");
    lua_setfield(L, -2, LUA_TABLIBNAME);
}

static void open_numbers(lua_State *L)
{
    static const char *const math[] = {
        "abs", "acos",       "asin", "atan", "ceil", "cos", "deg",
        "exp", "floor",      "fmod", "huge", "log",  "max", "maxinteger",
        "min", "mininteger", "modf", "pi",   "rad",  "sin", "sqrt",
        "tan", "tointeger",  "type", "ult",  NULL};
    static const char *const utf8[] = {
        "char", "charpattern", "codepoint", "codes", "len", "offset", NULL};
    open_library(L, LUA_MATHLIBNAME, luaopen_math, math);
    lua_setfield(L, -2, LUA_MATHLIBNAME);
    open_library(L, LUA_UTF8LIBNAME, luaopen_utf8, utf8);
    lua_setfield(L, -2, LUA_UTF8LIBNAME);
}

void sandbox_open(lua_State *L)
{
    open_base(L);
    open_string(L);
    open_table(L);
    open_numbers(L);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

/* --- read-only faces ------------------------------------------------------ */

/* __newindex; upvalue 1 says what is read-only. */
static int refuse_write(lua_State *L)
{
    push_text(L, 2);
    return luaL_error(L, "cannot set '%s': %s read-only", lua_tostring(L, -1),
                      lua_tostring(L, lua_upvalueindex(1)));
}

/* Replaces the table at -1 by an empty one through which it is read. */
static void push_face(lua_State *L, const char *what)
{
    lua_newtable(L);
    lua_createtable(L, 0, 3);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, what);
    lua_pushcclosure(L, refuse_write, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

void sandbox_seal(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_istable(L, -1)) {
            const char *name = lua_tostring(L, -2);
            const char *what = lua_pushfstring(L, "%s is", name);
            lua_pushvalue(L, -2);
            push_face(L, what);
            lua_setfield(L, -5, name);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    push_face(L, "globals are");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &env_key);
}

int sandbox_load(lua_State *L, const char *text, size_t n, const char *chunk)
{
    const int status = luaL_loadbufferx(L, text, n, chunk, "t");
    if (status == LUA_OK) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &env_key);
        assert(lua_istable(L, -1));
        lua_setupvalue(L, -2, 1);
    }
    return status;
}
