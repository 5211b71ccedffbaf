/* script.h: the generator's scripts under a fuzzer: one host for all inputs,
 * with files in memory (memory.lua) and the module `fuzz`, which is given each
 * input. Lines of scripts count as coverage. A fault of a script, or a lack of
 * memory, aborts.
 */
#ifndef KILN_TESTS_SCRIPT_H
#define KILN_TESTS_SCRIPT_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

#include "diag.h"

/* Hears what `fuzz` returned, which is all that stands on the stack. */
typedef void script_after(lua_State *L, void *user);

/* tests/fuzz/DRIVER becomes the module `fuzz`. Once; from the top folder. */
void script_open(const char *driver);
/* Calls fuzz(input), then after (NULL: nothing). */
void script_call(const uint8_t *data, size_t n, script_after *after,
                 void *user);
diag *script_sink(void);

#endif /* KILN_TESTS_SCRIPT_H */
