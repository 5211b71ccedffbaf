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
 *     launch: {op=, variant=, group=, packed=, key=, keyed=, dtypes=, baked=,
 *     layout=, align=1, 16 or nil, sizes=, probes={{key=, ranges=,
 *     positions=}}} and with a tier {kernel=, config=, us=}. key: the
 * lattice's, its sizes perhaps beyond it; probes: where the look-up looks, in
 * its order; keyed: the dtypes in the key. The array also has workspace, flops,
 * read, written and why (routes). handle:range(ladder index, position) -> least
 * and greatest size handle:broadcast(call) -> sizes of all inputs broadcast, or
 * nil and why handle:key({arch=}, text) -> the key's canonical text, or nil and
 * why handle:nearest({arch=}, text, entries) -> the nearest few of entries
 *     {packed=, positions=} of the key's op, or nil and why
 */
#ifndef KILN_GEN_BIND_H
#define KILN_GEN_BIND_H

#include <lua.h>

int bind_open(lua_State *L);

#endif /* KILN_GEN_BIND_H */
