/* bind_key.c: what the core says of keys, for Lua. */
#include <lauxlib.h>
#include <string.h>

#include "bind_parts.h"

/* --- pushing ---------------------------------------------------------------
 */

static void push_positions(lua_State *L, const int *positions, int n)
{
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, positions[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

void bind_push_probes(lua_State *L, const kiln_tables *tables,
                      const kiln_key *key)
{
    kiln_probes probes;
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    lua_newtable(L);
    kiln_probes_start(&probes, tables, key);
    for (int n = 1; kiln_probes_next(&probes, positions); n++) {
        lua_createtable(L, 0, 3);
        kiln_key_text(tables, key, positions, text, sizeof text);
        bind_set_string(L, "key", text);
        kiln_key_ranges(tables, key, positions, text, sizeof text);
        bind_set_string(L, "ranges", text);
        push_positions(L, positions, probes.n);
        lua_setfield(L, -2, "positions");
        lua_rawseti(L, -2, n);
    }
}

/* --- handle:range ----------------------------------------------------------
 */

int bind_range(lua_State *L)
{
    const kiln_tables *tables = bind_tables(L);
    lua_Integer ladder = luaL_checkinteger(L, 2);
    lua_Integer position = luaL_checkinteger(L, 3);
    int64_t low, high;

    luaL_argcheck(L, ladder >= 1 && ladder <= tables->n_ladders, 2,
                  "no such ladder");
    kiln_ladder_range(&tables->ladders[ladder - 1], (int)position, &low, &high);
    lua_pushinteger(L, low + 1);
    lua_pushinteger(L, high);
    return 2;
}

/* --- handle:broadcast ------------------------------------------------------
 */

int bind_broadcast(lua_State *L)
{
    const kiln_tables *tables = bind_tables(L);
    const kiln_op *op;
    bind_call call;
    kiln_view views[KILN_MAX_TENSORS];
    int64_t size[KILN_MAX_RANK];
    int rank, index;
    char why[200];

    lua_settop(L, 2);
    lua_getfield(L, 2, "op");
    op = kiln_find_op(tables, luaL_checkstring(L, -1), &index);
    luaL_argcheck(L, op != NULL, 2, "no such op");
    bind_read_tensors(L, &call);
    memset(views, 0, sizeof views);
    bind_to_views(&call, views);
    if (!kiln_space_broadcast(op, views, size, &rank, why, sizeof why)) {
        return bind_failure(L, why);
    }
    lua_createtable(L, rank, 0);
    for (int d = 0; d < rank; d++) {
        lua_pushinteger(L, size[d]);
        lua_rawseti(L, -2, d + 1);
    }
    return 1;
}

/* --- handle:key and handle:nearest -----------------------------------------
 */

static bool parse(lua_State *L, kiln_key *key, int *positions, char *why,
                  size_t cap)
{
    const kiln_tables *tables = bind_tables(L);

    return kiln_key_parse(tables, bind_arch(L, tables, 2),
                          luaL_checkstring(L, 3), key, positions, why, cap);
}

int bind_parse_key(lua_State *L)
{
    kiln_key key;
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    if (!parse(L, &key, positions, text, sizeof text)) {
        return bind_failure(L, text);
    }
    kiln_key_text(bind_tables(L), &key, positions, text, sizeof text);
    lua_pushstring(L, text);
    return 1;
}

#define NEAREST 3

/* Distance of the key from entry i of the list at index 4. */
static int64_t distance_of(lua_State *L, const kiln_key *key, lua_Integer i)
{
    int64_t list[KILN_MAX_RANK];
    int positions[KILN_MAX_AXES];
    int64_t distance;
    int n;

    lua_rawgeti(L, 4, i);
    n = bind_sizes(L, lua_gettop(L), "positions", list);
    luaL_argcheck(L, n == key->op->n_axes, 4, "positions of another op");
    for (int axis = 0; axis < n; axis++) {
        positions[axis] = (int)list[axis];
    }
    distance = kiln_key_distance(
        bind_tables(L), key,
        (uint64_t)bind_field_integer(L, lua_gettop(L), "packed", 0), positions);
    lua_pop(L, 1);
    return distance;
}

/* Puts entry i among the nearest, which ascend; the earlier one wins a tie. */
static void keep(lua_Integer *nearest, int64_t *distances, int *n,
                 lua_Integer i, int64_t distance)
{
    int at = *n;

    while (at > 0 && distance < distances[at - 1]) {
        at--;
    }
    if (at == NEAREST) {
        return;
    }
    *n += *n < NEAREST;
    for (int k = *n - 1; k > at; k--) {
        nearest[k] = nearest[k - 1];
        distances[k] = distances[k - 1];
    }
    nearest[at] = i;
    distances[at] = distance;
}

int bind_nearest(lua_State *L)
{
    kiln_key key;
    int positions[KILN_MAX_AXES];
    lua_Integer nearest[NEAREST];
    int64_t distances[NEAREST];
    char why[200];
    int n = 0;

    luaL_checktype(L, 4, LUA_TTABLE);
    if (!parse(L, &key, positions, why, sizeof why)) {
        return bind_failure(L, why);
    }
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 4); i++) {
        keep(nearest, distances, &n, i, distance_of(L, &key, i));
    }
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 4, nearest[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}
