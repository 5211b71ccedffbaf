/* bind.h: the planning core for Lua, as the global table `core`.
 *
 *   core.schema() -> {struct name = {fields in order {name=, kind=, of=}}}
 *   core.load(tables) -> handle; tables: a Lua kiln_tables, see load.h
 *   core.eval(expr) -> value, or nil and why; expr names constants alone
 *   core.promote(dtype name, ...) -> the promoted dtype's name
 *   core.expr(expr) -> the same, loaded once for handle:eval
 *   handle:eval({lets=, tensors=, arch=}, loaded) -> value, or nil and why
 *   handle:group(call) -> packed group of a call that is one launch, else 0;
 *     or as plan
 *   handle:plan(call) -> launches, or nil, message and status
 *     call: {op=, tensors={{dtype=, shape=, strides=, offset=} or false},
 *     attrs={{name=, value=}}, arch=index, tier=index or nil}
 *     launch: {op=, variant=, group=, packed=, key=, dtypes=, baked=, layout=,
 *     sizes=, positions=} and with a tier {kernel=, config=, us=}; a position
 *     is -1 beyond the ladder. The array also has workspace, flops, read,
 *     written and why (routes).
 */
#ifndef KILN_GEN_BIND_H
#define KILN_GEN_BIND_H

#include <lua.h>

int bind_open(lua_State *L);

#endif /* KILN_GEN_BIND_H */
