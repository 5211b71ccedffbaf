/* sandbox.h: the Lua that scripts see. It has no way out of the program and
 * no order, address, time or seed that differs from run to run:
 *
 *   - of the base library: assert error getmetatable ipairs next pairs pcall
 *     rawequal rawget rawlen select setmetatable tonumber tostring type; and
 *     string, table, math (no random), utf8;
 *   - pairs and next go by sorted key: numbers ascending, then strings by
 *     their bytes; another key is an error. pairs walks the keys that were
 *     there when it was called and skips those that are nil when their turn
 *     comes; `next` alone takes time linear in the table;
 *   - table.sort is stable;
 *   - a table or function as text is "table", "function"; %p is an error;
 *   - metatables with __gc or __mode are refused: they show when memory is
 *     collected;
 *   - pcall lets "not enough memory" through;
 *   - globals and the tables in them are read-only.
 *
 * What stays open: `#` of an array with holes, as in plain Lua.
 */
#ifndef KILN_GEN_SANDBOX_H
#define KILN_GEN_SANDBOX_H

#include <lua.h>

/* Makes the global table of the fresh state L. Raises Lua errors. */
void sandbox_open(lua_State *L);

/* Seals the globals as they are now: chunks of sandbox_load see them read-only
 * through and through. Call once, after all globals are set. */
void sandbox_seal(lua_State *L);

/* Compiles text[0 .. n) and pushes its function, or an error message. Returns
 * a status of lua_load. chunk: "@lua/expr.lua". Binary chunks are refused. */
int sandbox_load(lua_State *L, const char *text, size_t n, const char *chunk);

/* Raises the error that Lua raises when an allocation fails. */
int sandbox_no_memory(lua_State *L);

#endif /* KILN_GEN_SANDBOX_H */
