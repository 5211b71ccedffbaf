#define _XOPEN_SOURCE 700
#include "input.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Registry: the set of the paths read. Its address is the key. */
static const char paths_key = 0;
/* Registry: true when something that is there could not be read. */
static const char broken_key = 0;

/* Pushes the set of the paths read. */
static void push_paths(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &paths_key) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &paths_key);
    }
}

static void remember(lua_State *L, const char *path)
{
    push_paths(L);
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, path);
    lua_pop(L, 1);
}

static bool is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG ||
           error == ELOOP;
}

static bool push_error(lua_State *L, int error)
{
    if (!is_absent(error)) {
        lua_pushboolean(L, 1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &broken_key);
    }
    lua_pushfstring(L, "cannot be read: %s", strerror(error));
    return false;
}

/* Reads up to `room` bytes. Returns an errno or 0. No Lua call happens while
 * the file is open, so none can leave it open. */
static int read_bytes(const char *path, char *bytes, size_t room, size_t *n)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return errno;
    }
    int error = 0;
    *n = 0;
    while (*n < room && error == 0) {
        const ssize_t got = read(file, bytes + *n, room - *n);
        if (got == 0) {
            break;
        }
        if (got > 0) {
            *n += (size_t)got;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    close(file);
    return error;
}

/* The size of a plain file; or false, and what is wrong is pushed. */
static bool plain_size(lua_State *L, const char *path, size_t limit,
                       size_t *size)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return push_error(L, errno);
    }
    if (S_ISDIR(facts.st_mode)) {
        lua_pushliteral(L, "is a folder, not a file");
        return false;
    }
    if (!S_ISREG(facts.st_mode)) {
        lua_pushliteral(L, "is not a plain file");
        return false;
    }
    if (facts.st_size < 0 || (unsigned long long)facts.st_size > limit) {
        lua_pushfstring(L, "larger than %d MB", (int)(limit >> 20));
        return false;
    }
    *size = (size_t)facts.st_size;
    return true;
}

bool input_read(lua_State *L, const char *path, size_t limit)
{
    luaL_Buffer buffer;
    size_t size = 0;
    size_t n = 0;
    if (!plain_size(L, path, limit, &size)) {
        return false;
    }
    char *bytes = luaL_buffinitsize(L, &buffer, size + 1);
    const int error = read_bytes(path, bytes, size + 1, &n);
    if (error != 0 || n > size) {
        luaL_pushresultsize(&buffer, 0);
        lua_pop(L, 1);
        if (error != 0) {
            return push_error(L, error);
        }
        lua_pushliteral(L, "grew while it was read");
        return false;
    }
    luaL_pushresultsize(&buffer, n);
    remember(L, path);
    return true;
}

/* --- folders -------------------------------------------------------------- */

static int close_folder(lua_State *L)
{
    DIR **folder = lua_touserdata(L, 1);
    if (*folder) {
        closedir(*folder);
        *folder = NULL;
    }
    return 0;
}

/* Pushes a box for a folder that closes it when it is collected. */
static DIR **push_box(lua_State *L)
{
    DIR **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    if (luaL_newmetatable(L, "input.folder")) {
        lua_pushcfunction(L, close_folder);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return box;
}

/* Sorts the array at the top as scripts do: by bytes. */
static void sort_names(lua_State *L)
{
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    lua_pushvalue(L, -3);
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

/* Appends the folder's names to the array at the top. Returns an errno. */
static int add_names(lua_State *L, DIR *folder)
{
    lua_Integer n = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) {
            return errno;
        }
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            lua_pushstring(L, name);
            lua_rawseti(L, -2, ++n);
        }
    }
}

bool input_list(lua_State *L, const char *path)
{
    DIR **box = push_box(L);
    *box = opendir(path);
    if (!*box) {
        return push_error(L, errno);
    }
    lua_newtable(L);
    const int error = add_names(L, *box);
    closedir(*box);
    *box = NULL;
    if (error != 0) {
        return push_error(L, error);
    }
    sort_names(L);
    remember(L, path);
    return true;
}

bool input_is_dir(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool input_broken(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &broken_key);
    const bool broken = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return broken;
}

void input_paths(lua_State *L)
{
    lua_Integer n = 0;
    lua_newtable(L);
    push_paths(L);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -4, ++n);
    }
    lua_pop(L, 1);
    sort_names(L);
}
