/* bind_parts.h: what the files of the binding share. See bind.h. */
#ifndef KILN_GEN_BIND_PARTS_H
#define KILN_GEN_BIND_PARTS_H

#include <lua.h>

#include "core/plan.h"

/* The tables of the handle at index 1. */
const kiln_tables *bind_tables(lua_State *L);
/* The profile at position `arch` of the table at index; the first without. */
const kiln_arch *bind_arch(lua_State *L, const kiln_tables *tables, int index);
/* Pushes nil and why. */
int bind_failure(lua_State *L, const char *why);

/* --- fields of Lua tables --- */

void bind_set_string(lua_State *L, const char *name, const char *value);
void bind_set_integer(lua_State *L, const char *name, lua_Integer value);
lua_Integer bind_field_integer(lua_State *L, int index, const char *name,
                               lua_Integer otherwise);
/* Reads an array of integers; its length, at most KILN_MAX_RANK, or -1 when
 * there is none. */
int bind_sizes(lua_State *L, int index, const char *name, int64_t *out);

/* --- a call: {tensors=, attrs=} --- */

typedef struct bind_tensor {
    DLTensor tensor;
    int64_t shape[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK];
} bind_tensor;

typedef struct bind_call {
    bind_tensor tensors[KILN_MAX_TENSORS];
    const DLTensor *pointers[KILN_MAX_TENSORS];
    kiln_attr attrs[KILN_MAX_ATTRS];
    int n_tensors;
    int n_attrs;
} bind_call;

/* Both read the table at index 2. */
void bind_read_tensors(lua_State *L, bind_call *call);
void bind_read_attrs(lua_State *L, bind_call *call);
/* Metadata alone: sizes and dtypes as expressions see them. */
void bind_to_views(const bind_call *call, kiln_view *views);

/* --- methods of a handle, of bind_plan.c and bind_key.c --- */

int bind_plan(lua_State *L);
int bind_group(lua_State *L);
int bind_range(lua_State *L);
int bind_broadcast(lua_State *L);
int bind_parse_key(lua_State *L);
int bind_nearest(lua_State *L);

/* Pushes {key=, ranges=, positions=} of each look-up of key, in order. */
void bind_push_probes(lua_State *L, const kiln_tables *tables,
                      const kiln_key *key);

#endif /* KILN_GEN_BIND_PARTS_H */
