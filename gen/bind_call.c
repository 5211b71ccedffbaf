/* bind_call.c: a call as a Lua table, read for the core. */
#include <lauxlib.h>
#include <string.h>

#include "bind_parts.h"

void bind_set_string(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

void bind_set_integer(lua_State *L, const char *name, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

lua_Integer bind_field_integer(lua_State *L, int index, const char *name,
                               lua_Integer otherwise)
{
    lua_Integer value = otherwise;

    if (lua_getfield(L, index, name) != LUA_TNIL) {
        value = luaL_checkinteger(L, -1);
    }
    lua_pop(L, 1);
    return value;
}

int bind_sizes(lua_State *L, int index, const char *name, int64_t *out)
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

static void read_tensor(lua_State *L, int index, bind_tensor *to)
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
    to->tensor.ndim = (int32_t)bind_sizes(L, index, "shape", to->shape);
    to->tensor.shape = to->shape;
    if (bind_sizes(L, index, "strides", to->strides) >= 0) {
        to->tensor.strides = to->strides;
    }
    to->tensor.byte_offset =
        (uint64_t)(bind_field_integer(L, index, "offset", 0) *
                   kiln_dtype_size(dtype));
}

void bind_read_tensors(lua_State *L, bind_call *call)
{
    lua_getfield(L, 2, "tensors");
    luaL_checktype(L, -1, LUA_TTABLE);
    call->n_tensors = (int)lua_rawlen(L, -1);
    luaL_argcheck(L, call->n_tensors <= KILN_MAX_TENSORS, 2,
                  "too many tensors");
    for (int i = 0; i < call->n_tensors; i++) {
        call->pointers[i] = NULL;
        if (lua_rawgeti(L, -1, i + 1) == LUA_TTABLE) {
            read_tensor(L, lua_gettop(L), &call->tensors[i]);
            call->pointers[i] = &call->tensors[i].tensor;
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

void bind_read_attrs(lua_State *L, bind_call *call)
{
    call->n_attrs = 0;
    if (lua_getfield(L, 2, "attrs") == LUA_TTABLE) {
        call->n_attrs = (int)lua_rawlen(L, -1);
        luaL_argcheck(L, call->n_attrs <= KILN_MAX_ATTRS, 2,
                      "too many attributes");
        for (int i = 0; i < call->n_attrs; i++) {
            lua_rawgeti(L, -1, i + 1);
            read_attr(L, &call->attrs[i]);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

void bind_to_views(const bind_call *call, kiln_view *views)
{
    for (int t = 0; t < call->n_tensors; t++) {
        const DLTensor *tensor = call->pointers[t];

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
