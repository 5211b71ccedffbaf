/* owned.h: memory of the core that Lua collects, from where all of the host's
 * memory comes (host.h): a Lua error, lack of memory too, may end any function
 * that uses it.
 */
#ifndef KILN_GEN_OWNED_H
#define KILN_GEN_OWNED_H

#include <lua.h>

#include "core/arena.h"
#include "core/plan.h"

/* Userdata: an arena and what was built in it. */
typedef struct owned {
    kiln_arena arena;
    const void *root;
} owned;

/* Makes the metatable of a type of owned and leaves it at the top. */
void owned_type(lua_State *L, const char *type);
/* Pushes an empty one. */
owned *owned_push(lua_State *L, const char *type);
/* Frees the arena before it is collected. */
void owned_free(owned *o);

/* Pushes a box for a program, which is destroyed with it. */
kiln_program **owned_program(lua_State *L);
/* Destroys the program, if there is one, before it is collected. */
void owned_empty(kiln_program **box);

kiln_allocator owned_allocator(lua_State *L);

#endif /* KILN_GEN_OWNED_H */
