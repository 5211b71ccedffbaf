#include "order.h"

#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- keys ----------------------------------------------------------------- */

typedef enum key_kind { KEY_INT, KEY_FLOAT, KEY_STRING } key_kind;

/* A key that is in a table; the table keeps the string's bytes. */
typedef struct key {
    key_kind kind;
    lua_Integer i;
    lua_Number f;
    const char *text;
    size_t n;
} key;

/* The key at stack index `at`. */
static key read_key(lua_State *L, int at)
{
    key k = {.kind = KEY_INT};
    if (lua_isinteger(L, at)) {
        k.i = lua_tointeger(L, at);
    } else if (lua_type(L, at) == LUA_TNUMBER) {
        k.kind = KEY_FLOAT;
        k.f = lua_tonumber(L, at);
    } else if (lua_type(L, at) == LUA_TSTRING) {
        k.kind = KEY_STRING;
        k.text = lua_tolstring(L, at, &k.n);
    } else {
        luaL_error(L, "a table with a %s as key has no order",
                   luaL_typename(L, at));
    }
    return k;
}

/* A float that is a key is no integer of 64 bits: Lua makes those ints. */
static int compare_int_float(lua_Integer i, lua_Number f)
{
    if (f >= 0x1p63) {
        return -1;
    }
    if (f < -0x1p63) {
        return 1;
    }
    return i <= (lua_Integer)floor(f) ? -1 : 1;
}

static int compare_numbers(const key *a, const key *b)
{
    if (a->kind == KEY_INT && b->kind == KEY_INT) {
        return (a->i > b->i) - (a->i < b->i);
    }
    if (a->kind == KEY_INT) {
        return compare_int_float(a->i, b->f);
    }
    if (b->kind == KEY_INT) {
        return -compare_int_float(b->i, a->f);
    }
    return (a->f > b->f) - (a->f < b->f);
}

static int compare_keys(const void *left, const void *right)
{
    const key *a = left;
    const key *b = right;
    if (a->kind != KEY_STRING && b->kind != KEY_STRING) {
        return compare_numbers(a, b);
    }
    if (a->kind != b->kind) {
        return a->kind == KEY_STRING ? 1 : -1;
    }
    const int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

static void push_key(lua_State *L, const key *k)
{
    if (k->kind == KEY_INT) {
        lua_pushinteger(L, k->i);
    } else if (k->kind == KEY_FLOAT) {
        lua_pushnumber(L, k->f);
    } else {
        lua_pushlstring(L, k->text, k->n);
    }
}

/* --- next ----------------------------------------------------------------- */

int order_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    const bool after = !lua_isnil(L, 2);
    const key low = after ? read_key(L, 2) : (key){.kind = KEY_INT};
    key best = low;
    bool found = false;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        const key k = read_key(L, -1);
        if ((!after || compare_keys(&k, &low) > 0) &&
            (!found || compare_keys(&k, &best) < 0)) {
            best = k;
            found = true;
        }
    }
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    push_key(L, &best);
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}

/* --- pairs ---------------------------------------------------------------- */

/* (t, i) of an array; upvalue 1: the last index. */
static int next_of_array(lua_State *L)
{
    const lua_Integer last = lua_tointeger(L, lua_upvalueindex(1));
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_Integer i = luaL_checkinteger(L, 2) + 1; i <= last; i++) {
        lua_pushinteger(L, i);
        if (lua_rawgeti(L, 1, i) != LUA_TNIL) {
            return 2;
        }
        lua_pop(L, 2);
    }
    lua_pushnil(L);
    return 1;
}

/* (t, any); upvalues: the sorted keys, how many, those that are done. */
static int next_of_keys(lua_State *L)
{
    const lua_Integer n = lua_tointeger(L, lua_upvalueindex(2));
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
    luaL_checktype(L, 1, LUA_TTABLE);
    while (i < n) {
        lua_rawgeti(L, lua_upvalueindex(1), ++i);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) != LUA_TNIL) {
            lua_pushinteger(L, i);
            lua_replace(L, lua_upvalueindex(3));
            return 2;
        }
        lua_pop(L, 2);
    }
    lua_pushinteger(L, n);
    lua_replace(L, lua_upvalueindex(3));
    lua_pushnil(L);
    return 1;
}

/* The number of keys of the table at 1. *array: they came as 1, 2, 3 ... */
static size_t count_keys(lua_State *L, bool *array)
{
    size_t n = 0;
    *array = true;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        n++;
        if (*array) {
            *array =
                lua_isinteger(L, -1) && lua_tointeger(L, -1) == (lua_Integer)n;
        }
    }
    return n;
}

/* Pushes the array of the sorted n keys of the table at 1. */
static void push_sorted_keys(lua_State *L, size_t n)
{
    key *keys = lua_newuserdatauv(L, n * sizeof *keys, 0);
    size_t i = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        keys[i++] = read_key(L, -1);
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    lua_createtable(L, (int)n, 0);
    for (i = 0; i < n; i++) {
        push_key(L, &keys[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_remove(L, -2);
}

int order_pairs(lua_State *L)
{
    bool array;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    const size_t n = count_keys(L, &array);
    if (n > INT32_MAX) {
        return luaL_error(L, "pairs: too many keys");
    }
    if (array) {
        lua_pushinteger(L, (lua_Integer)n);
        lua_pushcclosure(L, next_of_array, 1);
    } else {
        push_sorted_keys(L, n);
        lua_pushinteger(L, (lua_Integer)n);
        lua_pushinteger(L, 0);
        lua_pushcclosure(L, next_of_keys, 3);
    }
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

/* --- sort ----------------------------------------------------------------- */

/* Whether t[a] < t[b]; t at 1, a function or nil at 2. */
static bool is_less(lua_State *L, lua_Integer a, lua_Integer b)
{
    bool less;
    if (lua_isnil(L, 2)) {
        lua_rawgeti(L, 1, a);
        lua_rawgeti(L, 1, b);
        less = lua_compare(L, -2, -1, LUA_OPLT);
        lua_pop(L, 2);
    } else {
        lua_pushvalue(L, 2);
        lua_rawgeti(L, 1, a);
        lua_rawgeti(L, 1, b);
        lua_call(L, 2, 1);
        less = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return less;
}

/* Merges the runs first .. middle-1 and middle .. last-1 of `from`. */
static void merge(lua_State *L, const lua_Integer *from, lua_Integer *to,
                  size_t first, size_t middle, size_t last)
{
    size_t left = first;
    size_t right = middle;
    for (size_t i = first; i < last; i++) {
        const bool take_right =
            left == middle ||
            (right < last && is_less(L, from[right], from[left]));
        to[i] = take_right ? from[right++] : from[left++];
    }
}

/* Sorts the indices in `order`, with as many more behind it as scratch, by
 * merges of runs of doubling length. Returns where the result stands. */
static lua_Integer *sort_indices(lua_State *L, lua_Integer *order, size_t n)
{
    lua_Integer *from = order;
    lua_Integer *to = order + n;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t first = 0; first < n; first += 2 * run) {
            const size_t middle = first + run < n ? first + run : n;
            const size_t last = middle + run < n ? middle + run : n;
            merge(L, from, to, first, middle, last);
        }
        lua_Integer *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Moves t[order[i]] to t[i + 1], by a copy. */
static void permute(lua_State *L, const lua_Integer *order, size_t n)
{
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, 1, order[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    for (size_t i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        lua_rawseti(L, 1, (lua_Integer)i);
    }
    lua_pop(L, 1);
}

int order_sort(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TFUNCTION);
    }
    lua_settop(L, 2);
    const size_t n = lua_rawlen(L, 1);
    if (n < 2) {
        return 0;
    }
    if (n > INT32_MAX) {
        return luaL_error(L, "sort: too many values");
    }
    lua_Integer *order = lua_newuserdatauv(L, 2 * n * sizeof *order, 0);
    for (size_t i = 0; i < n; i++) {
        order[i] = (lua_Integer)i + 1;
    }
    permute(L, sort_indices(L, order, n), n);
    return 0;
}
