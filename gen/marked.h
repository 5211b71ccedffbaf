/* marked.h: a YAML text as Lua tables that know where they stand.
 *
 *   scalar  {kind="scalar", text=, plain=bool, line=, col=, path=}; with
 *           block=true for | and >, and end_line= when it ends on another
 *   map     {kind="map", line=, col=, path=, {key=scalar, value=node} ...}
 *   seq     {kind="seq", line=, col=, path=, node ...}
 *
 * in the order of the text; lines and columns (in characters) count from 1.
 * Scalars stay text: no null, bool or number is recognised here. A value that
 * is left out is a plain scalar with text "". An alias is the same table as
 * its anchor's.
 *
 * Refused, besides what libyaml refuses: all but UTF-8 (a byte-order mark may
 * stand first), control characters, the line breaks of YAML 1.1 alone (U+0085
 * U+2028 U+2029), empty texts, second documents, directives, tags, merge
 * keys, duplicate keys and anchors, keys that are no scalar or empty, and the
 * excesses below.
 */
#ifndef KILN_GEN_MARKED_H
#define KILN_GEN_MARKED_H

#include <lua.h>
#include <stddef.h>

#include "diag.h"

#define MARKED_BYTES_MAX ((size_t)16 << 20)
#define MARKED_DEPTH_MAX 64 /* of collections in each other */
#define MARKED_NODES_MAX 1000000
#define MARKED_ALIAS_MAX 100000 /* nodes that aliases stand for, in all */

/* Pushes the root node of text[0 .. n), or nil when something is wrong: sink
 * has it then, at its place in path. Raises only "not enough memory". */
void marked_load(lua_State *L, diag *sink, const char *path, const char *text,
                 size_t n);

#endif /* KILN_GEN_MARKED_H */
