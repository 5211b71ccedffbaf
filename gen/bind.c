#include "bind.h"

#include <lauxlib.h>
#include <string.h>

#include "bind_parts.h"
#include "core/expr.h"
#include "load.h"
#include "owned.h"
#include "schema.h"

#define TABLES_TYPE "kiln.tables"
#define EXPR_TYPE "kiln.expr"

/* --- core.schema --------------------------------------------------------- */

static const char *kind_name(schema_kind kind)
{
    static const char *const names[] = {
        "?",   "str",    "u8",  "u16",     "u32",      "u64",  "i32",  "i64",
        "f64", "struct", "ref", "structs", "pointers", "strs", "i64s", "u16s"};

    return names[kind];
}

static void push_struct(lua_State *L, int all, const schema_struct *schema)
{
    luaL_checkstack(L, 8, "schema nests too deep");
    if (lua_getfield(L, all, schema->name) != LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    lua_createtable(L, (int)schema->n_fields, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, all, schema->name);
    for (size_t i = 0; i < schema->n_fields; i++) {
        const schema_field *field = &schema->fields[i];

        lua_createtable(L, 0, 3);
        lua_pushstring(L, field->name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, kind_name(field->kind));
        lua_setfield(L, -2, "kind");
        if (field->of != NULL) {
            lua_pushstring(L, field->of->name);
            lua_setfield(L, -2, "of");
            push_struct(L, all, field->of);
        }
        lua_rawseti(L, -2, (lua_Integer)(i + 1));
    }
    lua_pop(L, 1);
}

static int core_schema(lua_State *L)
{
    lua_newtable(L);
    push_struct(L, lua_gettop(L), &schema_tables);
    return 1;
}

/* --- core.load ------------------------------------------------------------ */

static int load(lua_State *L, const char *type, const schema_struct *schema)
{
    owned *o;

    luaL_checktype(L, 1, LUA_TTABLE);
    o = owned_push(L, type);
    lua_pushvalue(L, 1);
    o->root = load_struct(L, &o->arena, schema);
    lua_pop(L, 1);
    return 1;
}

static int core_load(lua_State *L)
{
    return load(L, TABLES_TYPE, &schema_tables);
}

/* Loaded once for many evaluations. */
static int core_expr(lua_State *L)
{
    return load(L, EXPR_TYPE, &schema_expr);
}

const kiln_tables *bind_tables(lua_State *L)
{
    return ((const owned *)luaL_checkudata(L, 1, TABLES_TYPE))->root;
}

const kiln_arch *bind_arch(lua_State *L, const kiln_tables *tables, int index)
{
    lua_Integer arch = bind_field_integer(L, index, "arch", 1);

    luaL_argcheck(L, arch >= 1 && arch <= tables->n_archs, index,
                  "no such arch");
    return &tables->archs[arch - 1];
}

int bind_failure(lua_State *L, const char *why)
{
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

static int push_value(lua_State *L, const kiln_value *value)
{
    switch (value->kind) {
    case KILN_V_FLOAT:
        lua_pushnumber(L, value->f);
        break;
    case KILN_V_BOOL:
        lua_pushboolean(L, value->i != 0);
        break;
    default:
        lua_pushinteger(L, value->i);
        break;
    }
    return 1;
}

/* --- core.eval ------------------------------------------------------------ */

static int core_eval(lua_State *L)
{
    owned *o;
    kiln_scope scope;
    kiln_result result;
    char why[200];
    bool done;

    memset(&scope, 0, sizeof scope);
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    core_expr(L);
    o = lua_touserdata(L, -1);
    done = kiln_expr_run(o->root, &scope, &result, why, sizeof why);
    owned_free(o);
    return done ? push_value(L, &result.value) : bind_failure(L, why);
}

/* --- core.promote and handle:eval --- */

static int core_promote(lua_State *L)
{
    kiln_dtype all = KILN_NONE;

    for (int i = 1; i <= lua_gettop(L); i++) {
        size_t length;
        const char *name = luaL_checklstring(L, i, &length);

        all = kiln_dtype_promote(all, kiln_dtype_parse(name, (int)length));
    }
    lua_pushstring(L, kiln_dtype_name(all));
    return 1;
}

static int read_lets(lua_State *L, kiln_value *lets)
{
    int64_t values[KILN_MAX_RANK];
    int n = bind_sizes(L, 2, "lets", values);

    for (int i = 0; i < n; i++) {
        lets[i] = (kiln_value){KILN_V_INT, values[i], 0};
    }
    return n < 0 ? 0 : n;
}

static int handle_eval(lua_State *L)
{
    const kiln_tables *tables = bind_tables(L);
    const owned *expr = luaL_checkudata(L, 3, EXPR_TYPE);
    bind_call call;
    kiln_view views[KILN_MAX_TENSORS];
    kiln_value lets[KILN_MAX_RANK];
    kiln_scope scope;
    kiln_result result;
    char why[200];
    bool done;

    lua_settop(L, 3);
    bind_read_tensors(L, &call);
    bind_to_views(&call, views);
    memset(&scope, 0, sizeof scope);
    scope.tables = tables;
    scope.n_lets = read_lets(L, lets);
    scope.lets = lets;
    scope.tensors = views;
    scope.n_tensors = call.n_tensors;
    if (tables->n_archs > 0) {
        const kiln_arch *arch = bind_arch(L, tables, 2);

        scope.arch = arch->fields;
        scope.n_arch = arch->n_fields;
    }
    done = kiln_expr_run(expr->root, &scope, &result, why, sizeof why);
    return done ? push_value(L, &result.value) : bind_failure(L, why);
}

int bind_open(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"schema", core_schema},   {"load", core_load}, {"eval", core_eval},
        {"promote", core_promote}, {"expr", core_expr}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"plan", bind_plan},           {"group", bind_group},
        {"eval", handle_eval},         {"range", bind_range},
        {"key", bind_parse_key},       {"nearest", bind_nearest},
        {"broadcast", bind_broadcast}, {NULL, NULL}};

    owned_type(L, EXPR_TYPE);
    lua_pop(L, 1);
    owned_type(L, TABLES_TYPE);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    lua_setglobal(L, "core");
    return 0;
}
