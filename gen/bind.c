#include "bind.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "core/expr.h"
#include "core/plan.h"
#include "load.h"
#include "owned.h"
#include "sandbox.h"
#include "schema.h"

#define TABLES_TYPE "kiln.tables"
#define EXPR_TYPE "kiln.expr"

/* --- core.schema --------------------------------------------------------- */

static const char *kind_name(schema_kind kind)
{
    static const char *const names[] = {
        "?",       "str",      "u8",   "u16",  "u32",    "u64",
        "i32",     "i64",      "f32",  "f64",  "struct", "ref",
        "structs", "pointers", "strs", "i64s", "u16s"};

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

static const kiln_tables *check_tables(lua_State *L)
{
    return ((const owned *)luaL_checkudata(L, 1, TABLES_TYPE))->root;
}

static int push_failure(lua_State *L, const char *why)
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
    return done ? push_value(L, &result.value) : push_failure(L, why);
}

/* --- handle:plan -----------------------------------------------------------
 */

typedef struct call_tensor {
    DLTensor tensor;
    int64_t shape[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK];
} call_tensor;

typedef struct call_args {
    call_tensor tensors[KILN_MAX_TENSORS];
    const DLTensor *pointers[KILN_MAX_TENSORS];
    kiln_attr attrs[KILN_MAX_ATTRS];
    int n_tensors;
    int n_attrs;
} call_args;

static lua_Integer field_integer(lua_State *L, int index, const char *name,
                                 lua_Integer otherwise)
{
    lua_Integer value = otherwise;

    if (lua_getfield(L, index, name) != LUA_TNIL) {
        value = luaL_checkinteger(L, -1);
    }
    lua_pop(L, 1);
    return value;
}

static int read_sizes(lua_State *L, int index, const char *name, int64_t *out)
{
    int n = 0;

    if (lua_getfield(L, index, name) == LUA_TTABLE) {
        n = (int)lua_rawlen(L, -1);
        luaL_argcheck(L, n <= KILN_MAX_RANK, 2, "rank is over 8");
        for (int i = 0; i < n; i++) {
            lua_rawgeti(L, -1, i + 1);
            out[i] = luaL_checkinteger(L, -1);
            lua_pop(L, 1);
        }
    } else {
        n = -1;
    }
    lua_pop(L, 1);
    return n;
}

static void read_tensor(lua_State *L, int index, call_tensor *to)
{
    const char *name;
    size_t length;
    kiln_dtype dtype;

    lua_getfield(L, index, "dtype");
    name = luaL_checklstring(L, -1, &length);
    dtype = kiln_dtype_parse(name, (int)length);
    if (dtype == KILN_DTYPE_COUNT) {
        luaL_error(L, "unknown dtype %s", name);
    }
    lua_pop(L, 1);
    memset(&to->tensor, 0, sizeof to->tensor);
    to->tensor.device.device_type = kDLCPU;
    to->tensor.dtype = kiln_dtype_to_dlpack(dtype);
    to->tensor.ndim = (int32_t)read_sizes(L, index, "shape", to->shape);
    to->tensor.shape = to->shape;
    if (read_sizes(L, index, "strides", to->strides) >= 0) {
        to->tensor.strides = to->strides;
    }
    to->tensor.byte_offset = (uint64_t)(field_integer(L, index, "offset", 0) *
                                        kiln_dtype_size(dtype));
}

static void read_tensors(lua_State *L, call_args *args)
{
    lua_getfield(L, 2, "tensors");
    luaL_checktype(L, -1, LUA_TTABLE);
    args->n_tensors = (int)lua_rawlen(L, -1);
    luaL_argcheck(L, args->n_tensors <= KILN_MAX_TENSORS, 2,
                  "too many tensors");
    for (int i = 0; i < args->n_tensors; i++) {
        args->pointers[i] = NULL;
        if (lua_rawgeti(L, -1, i + 1) == LUA_TTABLE) {
            read_tensor(L, lua_gettop(L), &args->tensors[i]);
            args->pointers[i] = &args->tensors[i].tensor;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_attr(lua_State *L, kiln_attr *attr)
{
    lua_getfield(L, -1, "name");
    attr->name = luaL_checkstring(L, -1); /* alive: the call holds it */
    lua_pop(L, 1);
    switch (lua_getfield(L, -1, "value")) {
    case LUA_TBOOLEAN:
        attr->kind = KILN_ATTR_BOOL;
        attr->value.i = lua_toboolean(L, -1);
        break;
    case LUA_TSTRING:
        attr->kind = KILN_ATTR_STRING;
        attr->value.s = lua_tostring(L, -1);
        break;
    default:
        if (lua_isinteger(L, -1)) {
            attr->kind = KILN_ATTR_INT;
            attr->value.i = lua_tointeger(L, -1);
        } else {
            attr->kind = KILN_ATTR_FLOAT;
            attr->value.f = luaL_checknumber(L, -1);
        }
        break;
    }
    lua_pop(L, 1);
}

static void read_attrs(lua_State *L, call_args *args)
{
    args->n_attrs = 0;
    if (lua_getfield(L, 2, "attrs") == LUA_TTABLE) {
        args->n_attrs = (int)lua_rawlen(L, -1);
        luaL_argcheck(L, args->n_attrs <= KILN_MAX_ATTRS, 2,
                      "too many attributes");
        for (int i = 0; i < args->n_attrs; i++) {
            lua_rawgeti(L, -1, i + 1);
            read_attr(L, &args->attrs[i]);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

static void set_string(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

static void set_integer(lua_State *L, const char *name, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static void push_key_lists(lua_State *L, const kiln_key *key,
                           const int *positions)
{
    const kiln_op *op = key->op;

    lua_createtable(L, op->n_tensors, 0);
    for (int t = 0; t < op->n_tensors; t++) {
        lua_pushstring(L, kiln_dtype_name((kiln_dtype)key->dtypes[t]));
        lua_rawseti(L, -2, t + 1);
    }
    lua_setfield(L, -2, "dtypes");
    lua_createtable(L, op->n_attrs, 0);
    for (int a = 0; a < op->n_attrs; a++) {
        lua_pushinteger(L, key->baked[a]);
        lua_rawseti(L, -2, a + 1);
    }
    lua_setfield(L, -2, "baked");
    lua_createtable(L, op->n_axes, 0);
    lua_createtable(L, op->n_axes, 0);
    for (int i = 0; i < op->n_axes; i++) {
        lua_pushinteger(L, key->size[i]);
        lua_rawseti(L, -3, i + 1);
        lua_pushinteger(L, positions[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -3, "positions");
    lua_setfield(L, -2, "sizes");
}

static void push_launch(lua_State *L, const kiln_tables *tables,
                        const kiln_node *node)
{
    const kiln_key *key = node->key;
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    lua_createtable(L, 0, 12);
    set_string(L, "op", key->op->name);
    set_string(L, "variant", key->op->routes[key->route].name);
    set_string(L, "layout", kiln_layout_name(key->layout));
    set_integer(L, "packed", (lua_Integer)key->group);
    kiln_group_text(key, text, sizeof text);
    set_string(L, "group", text);
    (void)kiln_key_positions(tables, key, positions);
    kiln_key_text(tables, key, positions, text, sizeof text);
    set_string(L, "key", text);
    push_key_lists(L, key, positions);
    if (node->kernel != NULL) {
        set_string(L, "kernel", node->kernel->symbol);
        set_string(L, "config", node->kernel->config);
    }
    if (node->cell != NULL) {
        lua_pushnumber(L, (lua_Number)node->cell->us);
        lua_setfield(L, -2, "us");
    }
}

/* Array of the routes taken, outermost first. */
static void push_decisions(lua_State *L, const kiln_program *program)
{
    lua_createtable(L, program->n_decisions, 0);
    for (int i = 0; i < program->n_decisions; i++) {
        const kiln_decision *d = &program->decisions[i];

        lua_createtable(L, 0, 4);
        set_string(L, "op", d->op->name);
        set_string(L, "route", d->route->name);
        set_string(L, "when", d->route->when.text);
        set_integer(L, "depth", d->depth);
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_program(lua_State *L, const kiln_tables *tables,
                         const kiln_program *program)
{
    int n = 0;

    lua_createtable(L, program->n_nodes, 5);
    for (int i = 0; i < program->n_nodes; i++) {
        if (program->nodes[i].memset_buffer < 0) {
            push_launch(L, tables, &program->nodes[i]);
            lua_rawseti(L, -2, ++n);
        }
    }
    set_integer(L, "workspace", program->workspace);
    set_integer(L, "flops", program->flops);
    set_integer(L, "read", program->bytes_read);
    set_integer(L, "written", program->bytes_written);
    push_decisions(L, program);
    lua_setfield(L, -2, "why");
}

static void fill_request(lua_State *L, const kiln_tables *tables,
                         const call_args *args, kiln_request *request)
{
    lua_Integer arch = field_integer(L, 2, "arch", 1);
    lua_Integer tier = field_integer(L, 2, "tier", 0);

    memset(request, 0, sizeof *request);
    luaL_argcheck(L, arch >= 1 && arch <= tables->n_archs, 2, "no such arch");
    luaL_argcheck(L, tier >= 0 && tier <= tables->n_tiers, 2, "no such tier");
    request->tables = tables;
    request->arch = &tables->archs[arch - 1];
    request->tier = tier > 0 ? tables->tiers[tier - 1] : NULL;
    request->device.device_type = kDLCPU;
    request->tensors = args->pointers;
    request->n_tensors = args->n_tensors;
    request->attrs = args->attrs;
    request->n_attrs = args->n_attrs;
    lua_getfield(L, 2, "op");
    request->op = luaL_checkstring(L, -1); /* stays on the stack */
}

/* Plans the call at index 2; *NULL after pushing nil, message and status. */
static kiln_program **plan_call(lua_State *L, const kiln_tables *tables)
{
    const kiln_allocator allocator = owned_allocator(L);
    call_args args;
    kiln_request request;
    kiln_program **program;
    kiln_error err;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    program = owned_program(L);
    read_tensors(L, &args);
    read_attrs(L, &args);
    fill_request(L, tables, &args, &request);
    request.allocator = &allocator;
    if (kiln_program_create(program, &request, &err) != KILN_OK) {
        if (err.status == KILN_OUT_OF_MEMORY) {
            sandbox_no_memory(L);
        }
        lua_pushnil(L);
        lua_pushstring(L, err.text);
        lua_pushinteger(L, (lua_Integer)err.status);
    }
    return program;
}

static int handle_plan(lua_State *L)
{
    const kiln_tables *tables = check_tables(L);
    kiln_program **program = plan_call(L, tables);

    if (*program == NULL) {
        return 3;
    }
    push_program(L, tables, *program);
    owned_empty(program);
    return 1;
}

static int handle_group(lua_State *L)
{
    kiln_program **program = plan_call(L, check_tables(L));
    const kiln_node *first;

    if (*program == NULL) {
        return 3;
    }
    first = (*program)->nodes;
    lua_pushinteger(L, (*program)->n_nodes == 1 && first->key != NULL
                           ? (lua_Integer)first->key->group
                           : 0);
    owned_empty(program);
    return 1;
}

/* --- core.promote and handle:test ------------------------------------------
 */

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
    int n = read_sizes(L, 2, "lets", values);

    for (int i = 0; i < n; i++) {
        lets[i] = (kiln_value){KILN_V_INT, values[i], 0};
    }
    return n < 0 ? 0 : n;
}

/* Metadata alone: sizes and dtypes as expressions see them. */
static void to_views(const call_args *args, kiln_view *views)
{
    for (int t = 0; t < args->n_tensors; t++) {
        const DLTensor *tensor = args->pointers[t];

        memset(&views[t], 0, sizeof views[t]);
        if (tensor == NULL) {
            continue;
        }
        views[t].dtype = (uint8_t)kiln_dtype_from_dlpack(tensor->dtype);
        views[t].ndim = (uint8_t)tensor->ndim;
        memcpy(views[t].size, tensor->shape,
               (size_t)tensor->ndim * sizeof *tensor->shape);
    }
}

static int handle_eval(lua_State *L)
{
    const kiln_tables *tables = check_tables(L);
    const owned *expr = luaL_checkudata(L, 3, EXPR_TYPE);
    call_args args;
    kiln_view views[KILN_MAX_TENSORS];
    kiln_value lets[KILN_MAX_RANK];
    kiln_scope scope;
    kiln_result result;
    char why[200];
    bool done;

    lua_settop(L, 3);
    read_tensors(L, &args);
    to_views(&args, views);
    memset(&scope, 0, sizeof scope);
    scope.tables = tables;
    scope.n_lets = read_lets(L, lets);
    scope.lets = lets;
    scope.tensors = views;
    scope.n_tensors = args.n_tensors;
    if (tables->n_archs > 0) {
        const kiln_arch *arch =
            &tables->archs[field_integer(L, 2, "arch", 1) - 1];

        scope.arch = arch->fields;
        scope.n_arch = arch->n_fields;
    }
    done = kiln_expr_run(expr->root, &scope, &result, why, sizeof why);
    return done ? push_value(L, &result.value) : push_failure(L, why);
}

int bind_open(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"schema", core_schema},   {"load", core_load}, {"eval", core_eval},
        {"promote", core_promote}, {"expr", core_expr}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"plan", handle_plan},
                                       {"eval", handle_eval},
                                       {"group", handle_group},
                                       {NULL, NULL}};

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
