#include "owned.h"

#include <lauxlib.h>

#include "host.h"

#define PROGRAM_TYPE "kiln.program"

static void *allocate(void *memory, size_t bytes)
{
    return host_alloc(memory, NULL, 0, bytes);
}

static void release(void *memory, void *block)
{
    host_alloc(memory, block, 0, 0);
}

kiln_allocator owned_allocator(lua_State *L)
{
    return (kiln_allocator){allocate, release, host_setup_of(L)->memory};
}

/* --- arenas --------------------------------------------------------------- */

static int owned_gc(lua_State *L)
{
    owned_free(lua_touserdata(L, 1));
    return 0;
}

void owned_type(lua_State *L, const char *type)
{
    luaL_newmetatable(L, type);
    lua_pushcfunction(L, owned_gc);
    lua_setfield(L, -2, "__gc");
}

owned *owned_push(lua_State *L, const char *type)
{
    owned *o = lua_newuserdatauv(L, sizeof *o, 0);
    const kiln_allocator allocator = owned_allocator(L);

    o->root = NULL;
    kiln_arena_init(&o->arena, &allocator);
    luaL_setmetatable(L, type);
    return o;
}

void owned_free(owned *o)
{
    kiln_arena_free(&o->arena);
    o->arena.blocks = NULL;
}

/* --- programs ------------------------------------------------------------- */

static int program_gc(lua_State *L)
{
    owned_empty(lua_touserdata(L, 1));
    return 0;
}

kiln_program **owned_program(lua_State *L)
{
    kiln_program **box = lua_newuserdatauv(L, sizeof *box, 0);

    *box = NULL;
    if (luaL_newmetatable(L, PROGRAM_TYPE)) {
        lua_pushcfunction(L, program_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return box;
}

void owned_empty(kiln_program **box)
{
    if (*box != NULL) {
        kiln_program_destroy(*box);
        *box = NULL;
    }
}
