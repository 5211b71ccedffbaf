/* main.c: parses the command line, lets the scripts run the command, shows
 * what they say, and puts the trees they give in place.
 */
#define _XOPEN_SOURCE 700
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bind.h"
#include "cli.h"
#include "depfile.h"
#include "diag.h"
#include "embed.h"
#include "help.h"
#include "host.h"
#include "kiln.h"
#include "tree.h"

/* The exit codes that help.c explains. */
enum { DONE = 0, WRONG_INPUT = 1, WRONG_USAGE = 2, DIFFERS = 3, BROKEN = 4 };

/* What a run holds, in the order it is made. */
typedef struct run {
    int argc;
    char **argv;
    cli cli;
    host_memory memory;
    diag *sink;
    host *host;
    host_result result;
} run;

/* --- standard streams ----------------------------------------------------- */

/* A closed standard stream would be the first file that is opened, and be
 * written to: /dev/null takes its place, open the wrong way round, so that
 * using it still fails. */
static bool fill_streams(void)
{
    for (int file = 0; file < 3; file++) {
        const int flags = file == 0 ? O_WRONLY : O_RDONLY;
        if (fcntl(file, F_GETFD) == -1 && open("/dev/null", flags) != file) {
            return false;
        }
    }
    return true;
}

/* Whether all that was written has left. */
static bool flush(FILE *stream)
{
    return fflush(stream) == 0 && !ferror(stream);
}

/* `status`, unless what was written to stdout did not get out. */
static int finish(int status)
{
    if (!flush(stdout)) {
        fprintf(stderr, "kiln: standard output: %s\n", strerror(errno));
        return BROKEN;
    }
    return status;
}

/* --- the command line ----------------------------------------------------- */

static int usage_error(const cli *c)
{
    const bool named = c->command < CLI_COMMANDS;
    fprintf(stderr, "kiln: %s\nusage: ", c->why);
    help_usage(c->command, stderr);
    fprintf(stderr, "\nsee kiln %s%s--help\n",
            named ? cli_commands[c->command].name : "", named ? " " : "");
    return WRONG_USAGE;
}

static void write_quoted(const char *word, FILE *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./,:=+-@%";
    if (word[0] && word[strspn(word, plain)] == '\0') {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++) {
        if (*word == '\'') {
            fputs("'\\'", to);
        }
        fputc(*word, to);
    }
    fputc('\'', to);
}

/* The present command line without --check. */
static void write_mending(const run *r, FILE *to)
{
    fputs("to mend: ", to);
    for (int i = 0; i < r->argc; i++) {
        if (strcmp(r->argv[i], "--check") != 0) {
            fputs(i > 0 ? " " : "", to);
            write_quoted(r->argv[i], to);
        }
    }
    fputc('\n', to);
}

/* --- options for Lua ------------------------------------------------------ */

/* Sets field `name` of the table at -1 to the names that `list` joins. */
static void set_list(lua_State *L, const char *name, const char *list)
{
    if (!list) {
        return;
    }
    lua_newtable(L);
    for (lua_Integer i = 1;; i++) {
        const size_t n = strcspn(list, ",");
        lua_pushlstring(L, list, n);
        lua_rawseti(L, -2, i);
        if (!list[n]) {
            break;
        }
        list += n + 1;
    }
    lua_setfield(L, -2, name);
}

static void set_texts(lua_State *L, const char *name, const char **texts,
                      size_t n)
{
    lua_newtable(L);
    for (size_t i = 0; i < n; i++) {
        lua_pushstring(L, texts[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text); /* nil for NULL */
    lua_setfield(L, -2, name);
}

static void push_options(lua_State *L, const void *options)
{
    static const char *default_spec[] = {"spec"};
    const cli *c = options;
    lua_newtable(L);
    set_texts(L, "spec", c->n_specs ? c->specs : default_spec,
              c->n_specs ? c->n_specs : 1);
    set_texts(L, "args", c->args, c->n_args);
    set_text(L, "out", cli_out(c));
    set_list(L, "tier", c->value[CLI_OPT_TIER]);
    set_list(L, "ops", c->value[CLI_OPT_OPS]);
    set_text(L, "keys", c->value[CLI_OPT_KEYS]);
    set_text(L, "only", c->value[CLI_OPT_ONLY]);
    lua_pushboolean(L, c->value[CLI_OPT_CHECK] != NULL);
    lua_setfield(L, -2, "check");
}

/* --- trees ---------------------------------------------------------------- */

/* Lists what differs. */
static int check_trees(run *r)
{
    int status = DONE;
    for (size_t i = 0; i < r->result.n_trees; i++) {
        const enum tree_status tree =
            tree_check(&r->result.trees[i], stdout, r->sink);
        if (tree == TREE_IO) {
            return BROKEN;
        }
        if (tree == TREE_DIFFERENT) {
            status = DIFFERS;
        }
    }
    if (status == DIFFERS) {
        write_mending(r, stdout);
    }
    return status;
}

static bool write_depfile(run *r)
{
    const char *out = cli_out(&r->cli);
    const char *path = r->cli.value[CLI_OPT_DEPFILE];
    const char *const *inputs;
    char target[4096];
    size_t n;
    if (host_inputs(r->host, &inputs, &n) != HOST_OK) {
        diag_add(r->sink, path, 0, 0, "out of memory");
        return false;
    }
    size_t end = strlen(out);
    while (end > 1 && out[end - 1] == '/') {
        end--;
    }
    const int size =
        snprintf(target, sizeof target, "%.*s/MANIFEST", (int)end, out);
    if (size < 0 || (size_t)size >= sizeof target) {
        diag_add(r->sink, out, 0, 0, "the path is too long");
        return false;
    }
    return depfile_write(path, target, inputs, n, r->sink);
}

static int commit_trees(run *r)
{
    for (size_t i = 0; i < r->result.n_trees; i++) {
        if (tree_commit(&r->result.trees[i], r->sink) != TREE_OK) {
            return BROKEN;
        }
    }
    if (r->cli.value[CLI_OPT_DEPFILE] && !write_depfile(r)) {
        return BROKEN;
    }
    return DONE;
}

/* --- a run ---------------------------------------------------------------- */

static int no_memory(void)
{
    fputs("kiln: out of memory\n", stderr);
    return BROKEN;
}

/* Makes the host and lets it run the command. */
static int run_scripts(run *r)
{
    static const lua_CFunction open[] = {bind_open};
    const host_setup setup = {.memory = &r->memory,
                              .sink = r->sink,
                              .files = &embed_files,
                              .version = KILN_VERSION,
                              .open = open,
                              .n_open = 1};
    host_status status = host_create(&r->host, &setup);
    if (status == HOST_OK) {
        status = host_run(r->host, "main", cli_commands[r->cli.command].name,
                          push_options, &r->cli, &r->result);
    }
    if (status == HOST_INTERNAL) {
        diag_write(r->sink, stderr);
        fprintf(stderr, "kiln: internal error: %s\n", host_fault(r->host));
        return BROKEN;
    }
    return status == HOST_OK ? DONE : no_memory();
}

/* Shows what the scripts said; whether the trees are to be put in place. */
static int show(run *r)
{
    const size_t errors = diag_count(r->sink);
    fwrite(r->result.text, 1, r->result.n, stdout);
    const int status = finish(DONE);
    diag_write(r->sink, stderr);
    if (diag_lost(r->sink) > 0) {
        return no_memory();
    }
    if (status != DONE || errors == 0) {
        return status;
    }
    if (r->result.unreadable) {
        return BROKEN;
    }
    return r->result.status != DONE ? r->result.status : WRONG_INPUT;
}

static int run_command(run *r)
{
    int status = run_scripts(r);
    if (status == DONE) {
        status = show(r);
    }
    if (status != DONE) {
        return status;
    }
    status = r->cli.value[CLI_OPT_CHECK] ? check_trees(r) : commit_trees(r);
    status = finish(status);
    diag_write(r->sink, stderr);
    if (diag_lost(r->sink) > 0) {
        return no_memory();
    }
    return status != DONE ? status : r->result.status;
}

static int start(run *r, const char **room)
{
    switch (cli_parse(&r->cli, r->argc, r->argv, room)) {
    case CLI_WRONG:
        return usage_error(&r->cli);
    case CLI_HELP:
        help_write(r->cli.command, stdout);
        return finish(DONE);
    case CLI_VERSION:
        puts("kiln " KILN_VERSION);
        return finish(DONE);
    case CLI_RUN:
        break;
    }
    r->sink = diag_create(host_alloc, &r->memory);
    return r->sink ? run_command(r) : no_memory();
}

int main(int argc, char **argv)
{
    run r = {.argc = argc, .argv = argv};
    if (!fill_streams() || argc < 1) {
        return BROKEN;
    }
    signal(SIGPIPE, SIG_IGN);
    const size_t bytes = 2 * (size_t)argc * sizeof(const char *);
    const char **room = host_alloc(&r.memory, NULL, 0, bytes);
    const int status = room ? start(&r, room) : no_memory();
    host_destroy(r.host);
    diag_destroy(r.sink);
    host_alloc(&r.memory, room, bytes, 0);
    return status;
}
