/* order.h: Lua's table functions whose standard forms depend on hashes or the
 * clock, in a fixed order. Keys: numbers ascending, then strings by bytes;
 * a key of another type is an error.
 */
#ifndef KILN_GEN_ORDER_H
#define KILN_GEN_ORDER_H

#include <lua.h>

/* next(t [, key]): the least key above `key` and its value. Linear. */
int order_next(lua_State *L);

/* pairs(t): walks the keys that t has now; O(n log n), O(n) for arrays. Keys
 * whose value is nil when their turn comes are skipped. No __pairs. */
int order_pairs(lua_State *L);

/* table.sort(t [, less]): stable. t changes only when all comparisons are
 * done. */
int order_sort(lua_State *L);

#endif /* KILN_GEN_ORDER_H */
