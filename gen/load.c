#include "load.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "sandbox.h"

static void fill_struct(lua_State *L, kiln_arena *arena,
                        const schema_struct *schema, char *memory);

static void *take(lua_State *L, kiln_arena *arena, size_t bytes)
{
    void *memory = kiln_arena_alloc(arena, bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        sandbox_no_memory(L);
    }
    memset(memory, 0, bytes);
    return memory;
}

static void wrong(lua_State *L, const char *field, const char *want)
{
    luaL_error(L, "table field %s: expected %s, got %s", field, want,
               luaL_typename(L, -1));
}

/* The integer on top of the stack, or its member v, within [low, high]. */
static int64_t get_integer(lua_State *L, const char *field, int64_t low,
                           int64_t high)
{
    int exact = 0;
    lua_Integer value;

    if (lua_isboolean(L, -1)) {
        return lua_toboolean(L, -1);
    }
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "v");
        value = lua_tointegerx(L, -1, &exact);
        lua_pop(L, 1);
    } else {
        value = lua_tointegerx(L, -1, &exact);
    }
    if (!exact) {
        wrong(L, field, "an integer");
    }
    if (value < low || value > high) {
        luaL_error(L, "table field %s: %I is out of range", field, value);
    }
    return value;
}

static const char *get_string(lua_State *L, kiln_arena *arena,
                              const char *field)
{
    size_t n;
    const char *text;
    char *copy;

    if (lua_type(L, -1) != LUA_TSTRING) {
        wrong(L, field, "a string");
    }
    text = lua_tolstring(L, -1, &n);
    copy = take(L, arena, n + 1);
    memcpy(copy, text, n);
    return copy;
}

/* Width of an integer kind in bytes; 0 for other kinds. */
static size_t integer_width(schema_kind kind)
{
    switch (kind) {
    case SCHEMA_U8:
        return 1;
    case SCHEMA_U16:
    case SCHEMA_U16S:
        return 2;
    case SCHEMA_U32:
    case SCHEMA_I32:
        return 4;
    case SCHEMA_U64:
    case SCHEMA_I64:
    case SCHEMA_I64S:
        return 8;
    default:
        return 0;
    }
}

/* Stores the integer on top; little-endian or not, through its own type. */
static void put_integer(lua_State *L, const schema_field *field, char *to)
{
    static const int64_t highs[] = {0, UINT8_MAX, UINT16_MAX, 0, UINT32_MAX};
    size_t width = integer_width(field->kind);
    int64_t low = field->kind == SCHEMA_I32 ? INT32_MIN : 0;
    int64_t high = field->kind == SCHEMA_I32 ? INT32_MAX : 0;
    int64_t value;

    if (width == 8) {
        low = INT64_MIN;
        high = INT64_MAX;
    } else if (high == 0) {
        high = highs[width];
    }
    value = get_integer(L, field->name, low, high);
    if (width == 1) {
        uint8_t v = (uint8_t)value;
        memcpy(to, &v, sizeof v);
    } else if (width == 2) {
        uint16_t v = (uint16_t)value;
        memcpy(to, &v, sizeof v);
    } else if (width == 4) {
        uint32_t v = (uint32_t)value;
        memcpy(to, &v, sizeof v);
    } else {
        memcpy(to, &value, sizeof value);
    }
}

static void put_float(lua_State *L, const schema_field *field, char *to)
{
    double d;

    if (lua_type(L, -1) != LUA_TNUMBER) {
        wrong(L, field->name, "a number");
    }
    d = lua_tonumber(L, -1);
    memcpy(to, &d, sizeof d);
}

static size_t element_size(const schema_field *field)
{
    switch (field->kind) {
    case SCHEMA_STRUCTS:
        return field->of->size;
    case SCHEMA_I64S:
    case SCHEMA_U16S:
        return integer_width(field->kind);
    default:
        return sizeof(void *);
    }
}

static void fill_element(lua_State *L, kiln_arena *arena,
                         const schema_field *field, char *to)
{
    const void *pointer;

    switch (field->kind) {
    case SCHEMA_STRUCTS:
        fill_struct(L, arena, field->of, to);
        return;
    case SCHEMA_POINTERS:
        if (lua_isboolean(L, -1)) { /* false: no entry */
            return;
        }
        pointer = load_struct(L, arena, field->of);
        memcpy(to, &pointer, sizeof pointer);
        return;
    case SCHEMA_STRS:
        pointer = get_string(L, arena, field->name);
        memcpy(to, &pointer, sizeof pointer);
        return;
    default:
        put_integer(L, field, to);
        return;
    }
}

static void fill_list(lua_State *L, kiln_arena *arena,
                      const schema_field *field, char *memory)
{
    size_t size = element_size(field);
    size_t n;
    int32_t count;
    char *list;

    if (!lua_istable(L, -1)) {
        wrong(L, field->name, "a list");
    }
    luaL_checkstack(L, 8, "tables nest too deep");
    n = (size_t)lua_rawlen(L, -1);
    list = take(L, arena, n * size);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)(i + 1));
        fill_element(L, arena, field, list + i * size);
        lua_pop(L, 1);
    }
    count = (int32_t)n;
    memcpy(memory + field->offset, &list, sizeof list);
    memcpy(memory + field->count_offset, &count, sizeof count);
}

static void fill_ref(lua_State *L, kiln_arena *arena, const schema_field *field,
                     char *to)
{
    const void *pointer;

    if (field->of == NULL || !lua_istable(L, -1)) {
        return;
    }
    lua_getfield(L, -1, "value");
    if (!lua_isnil(L, -1)) {
        pointer = load_struct(L, arena, field->of);
        memcpy(to, &pointer, sizeof pointer);
    }
    lua_pop(L, 1);
}

static void fill_field(lua_State *L, kiln_arena *arena,
                       const schema_field *field, char *memory)
{
    char *to = memory + field->offset;
    const char *text;

    switch (field->kind) {
    case SCHEMA_STR:
        text = get_string(L, arena, field->name);
        memcpy(to, &text, sizeof text);
        break;
    case SCHEMA_STRUCT:
        fill_struct(L, arena, field->of, to);
        break;
    case SCHEMA_F64:
        put_float(L, field, to);
        break;
    case SCHEMA_REF:
        fill_ref(L, arena, field, to);
        break;
    default:
        if (field->kind >= SCHEMA_STRUCTS) {
            fill_list(L, arena, field, memory);
        } else {
            put_integer(L, field, to);
        }
        break;
    }
}

/* Zero strings would be NULL: the core expects "". */
static void fill_absent(const schema_struct *schema, char *memory)
{
    static const char *const empty = "";

    for (size_t i = 0; i < schema->n_fields; i++) {
        const schema_field *field = &schema->fields[i];

        if (field->kind == SCHEMA_STR) {
            memcpy(memory + field->offset, &empty, sizeof empty);
        } else if (field->kind == SCHEMA_STRUCT) {
            fill_absent(field->of, memory + field->offset);
        }
    }
}

static void fill_struct(lua_State *L, kiln_arena *arena,
                        const schema_struct *schema, char *memory)
{
    if (!lua_istable(L, -1)) {
        wrong(L, schema->name, "a table");
    }
    fill_absent(schema, memory);
    for (size_t i = 0; i < schema->n_fields; i++) {
        const schema_field *field = &schema->fields[i];

        lua_pushstring(L, field->name);
        lua_rawget(L, -2);
        if (!lua_isnil(L, -1)) {
            fill_field(L, arena, field, memory);
        }
        lua_pop(L, 1);
    }
}

const void *load_struct(lua_State *L, kiln_arena *arena,
                        const schema_struct *schema)
{
    char *memory = take(L, arena, schema->size);

    luaL_checkstack(L, 8, "tables nest too deep");
    fill_struct(L, arena, schema, memory);
    return memory;
}
