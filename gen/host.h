/* host.h: the Lua state that runs the scripts: the sandbox of sandbox.h with
 * the table `host` and `require` of hostlib.h, and what the open functions
 * of the setup add.
 */
#ifndef KILN_GEN_HOST_H
#define KILN_GEN_HOST_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "diag.h"
#include "embed.h"
#include "tree.h"

/* Where all memory comes from. Zeroed: from the C library. */
typedef struct host_memory {
    /* Asked before each block is made or grown; true: there is none. */
    bool (*refuse)(void *user);
    void *user;
} host_memory;

/* The one allocation function, a diag_alloc_fn and a lua_Alloc; `memory` is a
 * host_memory. Frees and shrinks never fail. */
void *host_alloc(void *memory, void *old, size_t old_n, size_t n);

typedef struct host host;

/* All of it must outlive the host. */
typedef struct host_setup {
    host_memory *memory;
    diag *sink;
    const embed_table *files;
    const char *version;
    const lua_CFunction *open; /* n_open functions that set globals */
    size_t n_open;
} host_setup;

typedef enum host_status {
    HOST_OK,
    HOST_INTERNAL, /* a defect of a script: host_fault tells */
    HOST_NO_MEMORY
} host_status;

/* What a command gave; its texts live as long as the host. */
typedef struct host_result {
    int status;      /* 0 to 4 */
    bool unreadable; /* something that is there could not be read */
    const char *text;
    size_t n; /* bytes of text */
    tree_change *trees;
    size_t n_trees;
} host_result;

/* *made is to be destroyed by the caller whatever is returned; NULL only with
 * HOST_NO_MEMORY. */
host_status host_create(host **made, const host_setup *setup);
/* NULL is allowed. */
void host_destroy(host *h);

/* Pushes the options table of a command. */
typedef void host_push(lua_State *L, const void *options);

/* Runs function run(command, options) of `module`, which is that function or
 * has it as a field. The result is a table {status=, text=, trees={{root=,
 * files={[path]=text}, remove={path ...}} ...}}; all but status may be
 * missing. Files come out sorted. Once a host. */
host_status host_run(host *h, const char *module, const char *command,
                     host_push *push, const void *options, host_result *result);

/* The paths that were read or listed, sorted, *n of them. */
host_status host_inputs(host *h, const char *const **paths, size_t *n);

/* What was wrong, with a traceback; "" before a failure. */
const char *host_fault(const host *h);

/* Calls `function` protected with `arg` as light userdata. */
host_status host_protect(host *h, lua_CFunction function, void *arg);
/* The setup of the host that L belongs to. */
const host_setup *host_setup_of(lua_State *L);

#endif /* KILN_GEN_HOST_H */
