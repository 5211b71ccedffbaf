/* input.h: the files that scripts read, each remembered for the dependency
 * file. Nothing but plain files and folders is read, and nothing is written.
 */
#ifndef KILN_GEN_INPUT_H
#define KILN_GEN_INPUT_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of a file that is no YAML. */
#define INPUT_BYTES_MAX ((size_t)256 << 20)

/* Pushes the file's bytes; or false, and what is wrong is pushed: "is a
 * folder". A file of more than `limit` bytes is refused unread. */
bool input_read(lua_State *L, const char *path, size_t limit);

/* Pushes the sorted array of the folder's entries without . and .., or false,
 * and what is wrong. */
bool input_list(lua_State *L, const char *path);

bool input_is_dir(const char *path);

/* Whether a file or folder that is there could not be read so far. */
bool input_broken(lua_State *L);

/* Pushes the sorted array of the paths that were read or listed, as they were
 * given. */
void input_paths(lua_State *L);

#endif /* KILN_GEN_INPUT_H */
