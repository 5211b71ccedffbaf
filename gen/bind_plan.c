/* bind_plan.c: handle:plan and handle:group. */
#include <lauxlib.h>
#include <string.h>

#include "bind_parts.h"
#include "owned.h"
#include "sandbox.h"

static void push_key_lists(lua_State *L, const kiln_key *key)
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
    for (int i = 0; i < op->n_axes; i++) {
        lua_pushinteger(L, key->size[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "sizes");
}

static void push_launch(lua_State *L, const kiln_tables *tables,
                        const kiln_node *node)
{
    const kiln_key *key = node->key;
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    lua_createtable(L, 0, 14);
    bind_set_string(L, "op", key->op->name);
    bind_set_string(L, "variant", key->op->routes[key->route].name);
    bind_set_string(L, "layout", kiln_layout_name(key->layout));
    if (key->classes & KILN_CLASS_ALIGN) {
        bind_set_integer(L, "align", 1 << key->align_log2);
    }
    bind_set_integer(L, "packed", (lua_Integer)key->group);
    kiln_group_text(key, text, sizeof text);
    bind_set_string(L, "group", text);
    (void)kiln_key_positions(tables, key, positions);
    kiln_key_text(tables, key, positions, text, sizeof text);
    bind_set_string(L, "key", text);
    kiln_key_dtypes(key, text, sizeof text);
    bind_set_string(L, "keyed", text);
    push_key_lists(L, key);
    bind_push_probes(L, tables, key);
    lua_setfield(L, -2, "probes");
    if (node->kernel != NULL) {
        bind_set_string(L, "kernel", node->kernel->symbol);
        bind_set_string(L, "config", node->kernel->config);
    }
}

/* Array of the routes taken, outermost first. */
static void push_decisions(lua_State *L, const kiln_program *program)
{
    lua_createtable(L, program->n_decisions, 0);
    for (int i = 0; i < program->n_decisions; i++) {
        const kiln_decision *d = &program->decisions[i];

        lua_createtable(L, 0, 4);
        bind_set_string(L, "op", d->op->name);
        bind_set_string(L, "route", d->route->name);
        bind_set_string(L, "when", d->route->when.text);
        bind_set_integer(L, "depth", d->depth);
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
    bind_set_integer(L, "workspace", program->workspace);
    bind_set_integer(L, "flops", program->flops);
    bind_set_integer(L, "read", program->bytes_read);
    bind_set_integer(L, "written", program->bytes_written);
    push_decisions(L, program);
    lua_setfield(L, -2, "why");
}

static void fill_request(lua_State *L, const kiln_tables *tables,
                         const bind_call *call, kiln_request *request)
{
    lua_Integer tier = bind_field_integer(L, 2, "tier", 0);

    memset(request, 0, sizeof *request);
    luaL_argcheck(L, tier >= 0 && tier <= tables->n_tiers, 2, "no such tier");
    request->tables = tables;
    request->arch = bind_arch(L, tables, 2);
    request->tier = tier > 0 ? tables->tiers[tier - 1] : NULL;
    request->device.device_type = kDLCPU;
    request->tensors = call->pointers;
    request->n_tensors = call->n_tensors;
    request->attrs = call->attrs;
    request->n_attrs = call->n_attrs;
    lua_getfield(L, 2, "op");
    request->op = luaL_checkstring(L, -1); /* stays on the stack */
}

/* Plans the call at index 2; *NULL after pushing nil, message and status. */
static kiln_program **plan_call(lua_State *L, const kiln_tables *tables)
{
    const kiln_allocator allocator = owned_allocator(L);
    bind_call call;
    kiln_request request;
    kiln_program **program;
    kiln_error err;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    program = owned_program(L);
    bind_read_tensors(L, &call);
    bind_read_attrs(L, &call);
    fill_request(L, tables, &call, &request);
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

int bind_plan(lua_State *L)
{
    const kiln_tables *tables = bind_tables(L);
    kiln_program **program = plan_call(L, tables);

    if (*program == NULL) {
        return 3;
    }
    push_program(L, tables, *program);
    owned_empty(program);
    return 1;
}

int bind_group(lua_State *L)
{
    kiln_program **program = plan_call(L, bind_tables(L));
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
