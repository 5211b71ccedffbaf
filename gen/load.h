/* load.h: fills the structs of a schema from a Lua table. */
#ifndef KILN_GEN_LOAD_H
#define KILN_GEN_LOAD_H

#include <lua.h>

#include "core/arena.h"
#include "schema.h"

/* The table on top of the stack as a `schema` struct in arena; a missing
 * field is zero, an integer may stand as {v = integer}. Raises a Lua error
 * that names the field on a wrong type, a number out of range or no memory.
 * Strings are copied. The table stays on the stack. */
const void *load_struct(lua_State *L, kiln_arena *arena,
                        const schema_struct *schema);

#endif /* KILN_GEN_LOAD_H */
