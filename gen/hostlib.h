/* hostlib.h: what C offers the scripts: `require`, which knows the embedded
 * files alone ("family.softmax.init" is family/softmax/init.lua), and the
 * table `host`:
 *
 *   read(path)        -> text, or nil and why
 *   list(folder)      -> sorted names, or nil and why
 *   is_dir(path)      -> bool
 *   yaml(path)        -> marked node, or nil: the sink has why (marked.h)
 *   yaml_text(path, text) -> the same for a text that path stands for
 *   error(path, line, col, text): adds to the sink; line 0 or nil: none
 *   errors()          -> messages added so far
 *   sha256(text)      -> 64 hexadecimal digits
 *   tokens(text)      -> the canonical token text of C or CUDA (token.h)
 *   int(text)         -> integer or nil; number(text) -> float or nil;
 *   float(x)          -> text (all three: number.h)
 *   embedded(name)    -> text of an embedded file, or nil
 *   compile(chunk, text [, env]) -> function of the Lua text, or nil and why;
 *                        chunk: "=NAME", as messages name it; the globals are
 *                        env, or without one the sandbox's
 *   version           -> "0.1.0"
 */
#ifndef KILN_GEN_HOSTLIB_H
#define KILN_GEN_HOSTLIB_H

#include <lua.h>

/* Sets the globals `host` and `require`. L is a host's (host.h). */
void hostlib_open(lua_State *L);

#endif /* KILN_GEN_HOSTLIB_H */
