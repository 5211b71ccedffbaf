#include "cli.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "near.h"

#define BIT(command) (1u << (command))
#define ALL (BIT(CLI_COMMANDS) - 1)

const cli_command_row cli_commands[CLI_COMMANDS] = {
    [CLI_GEN] = {"gen", NULL, "out", "write the tree of generated sources"},
    [CLI_CHECK] = {"check", NULL, NULL, "check the specs, writing nothing"},
    [CLI_KEYS] = {"keys", NULL, NULL, "list the launch keys of the specs"},
    [CLI_EXPLAIN] = {"explain", "KEY", NULL,
                     "say how a key is served, or why it is not"},
    [CLI_CENSUS] = {"census", "FILE", NULL, "list the keys that a model needs"},
    [CLI_CASES] = {"cases", NULL, NULL, "list calls that try every kernel"},
    [CLI_CANDIDATES] = {"candidates", NULL, "build/candidates",
                        "write the kernels to be measured"},
    [CLI_CERTIFY] = {"certify", "FILE", NULL,
                     "turn measurements into certificates"},
};

const cli_option_row cli_options[CLI_OPTIONS] = {
    [CLI_OPT_SPEC] = {"spec", "DIR", CLI_REPEATED, ALL,
                      "Read specs from DIR (default: spec). Given again, a "
                      "later folder overlays and extends the earlier ones"},
    [CLI_OPT_OUT] = {"out", "DIR", CLI_TEXT, BIT(CLI_GEN) | BIT(CLI_CANDIDATES),
                     "Write the tree to DIR"},
    [CLI_OPT_TIER] = {"tier", "LIST", CLI_LIST, ALL,
                      "Only these tiers, joined by commas (default: all that "
                      "the specs have)"},
    [CLI_OPT_OPS] = {"ops", "LIST", CLI_LIST, ALL,
                     "Only these ops, joined by commas (default: all)"},
    [CLI_OPT_KEYS] = {"keys", "TEXT", CLI_TEXT, BIT(CLI_CANDIDATES),
                      "Only keys whose text holds TEXT"},
    [CLI_OPT_ONLY] = {"only", "WHICH", CLI_TEXT, BIT(CLI_CANDIDATES),
                      "Only keys that are stale, new, or all (default: all)"},
    [CLI_OPT_DEPFILE] = {"depfile", "FILE", CLI_TEXT,
                         BIT(CLI_GEN) | BIT(CLI_CANDIDATES),
                         "Write to FILE, as a rule of make, which files the "
                         "tree was made from"},
    [CLI_OPT_CHECK] = {"check", NULL, CLI_FLAG, BIT(CLI_GEN),
                       "Write nothing; list the files that differ and exit "
                       "with 3 when there are any"},
    [CLI_OPT_HELP] = {"help", NULL, CLI_FLAG, ALL | BIT(CLI_NONE),
                      "Show this text"},
    [CLI_OPT_VERSION] = {"version", NULL, CLI_FLAG, BIT(CLI_NONE),
                         "Show the version"},
};

const char *cli_out(const cli *c)
{
    assert(c->command < CLI_COMMANDS);
    const char *out = c->value[CLI_OPT_OUT];
    return out ? out : cli_commands[c->command].out;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static cli_status
wrong(cli *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    return CLI_WRONG;
}

static const char *command_name(const cli *c)
{
    return c->command < CLI_COMMANDS ? cli_commands[c->command].name : "kiln";
}

static bool takes(const cli *c, cli_option option)
{
    return cli_options[option].commands & BIT(c->command);
}

/* --- commands ------------------------------------------------------------- */

static cli_status unknown_command(cli *c, const char *name)
{
    const char *best = NULL;
    size_t least = NEAR_LIMIT(strlen(name)) + 1;
    for (int i = 0; i < CLI_COMMANDS; i++) {
        const size_t distance = near_distance(name, cli_commands[i].name);
        if (distance < least) {
            least = distance;
            best = cli_commands[i].name;
        }
    }
    if (best) {
        return wrong(c, "unknown command %.80s; did you mean %s?", name, best);
    }
    return wrong(c, "unknown command %.80s", name);
}

static cli_status find_command(cli *c, const char *name)
{
    for (int i = 0; i < CLI_COMMANDS; i++) {
        if (strcmp(name, cli_commands[i].name) == 0) {
            c->command = (cli_command)i;
            return CLI_RUN;
        }
    }
    return unknown_command(c, name);
}

/* --- options -------------------------------------------------------------- */

/* The option called name[0 .. n), or CLI_OPTIONS. */
static cli_option find_option(const char *name, size_t n)
{
    int i = 0;
    while (i < CLI_OPTIONS && (strlen(cli_options[i].name) != n ||
                               memcmp(cli_options[i].name, name, n) != 0)) {
        i++;
    }
    return (cli_option)i;
}

/* The nearest option that the command takes, or CLI_OPTIONS. */
static cli_option near_option(const cli *c, const char *name)
{
    cli_option best = CLI_OPTIONS;
    size_t least = NEAR_LIMIT(strlen(name)) + 1;
    for (int i = 0; i < CLI_OPTIONS; i++) {
        const size_t distance = near_distance(name, cli_options[i].name);
        if (takes(c, (cli_option)i) && distance < least) {
            least = distance;
            best = (cli_option)i;
        }
    }
    return best;
}

/* arg: "--outt=x" or "-o", its name n bytes from its second dash on. */
static cli_status unknown_option(cli *c, const char *arg, size_t n)
{
    char name[NEAR_LONGEST + 2];
    snprintf(name, sizeof name, "%.*s",
             n < sizeof name ? (int)n : (int)sizeof name - 1, arg);
    const cli_option near = near_option(c, name + strspn(name, "-"));
    if (near < CLI_OPTIONS) {
        return wrong(c, "unknown option %s; did you mean --%s?", name,
                     cli_options[near].name);
    }
    return wrong(c, "unknown option %s", name);
}

static cli_status foreign_option(cli *c, cli_option option)
{
    char list[120] = "";
    if (c->command == CLI_NONE) {
        return wrong(c, "the command comes first: kiln COMMAND --%s",
                     cli_options[option].name);
    }
    for (int i = 0; i < CLI_COMMANDS; i++) {
        if (cli_options[option].commands & BIT(i)) {
            const size_t n = strlen(list);
            snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "",
                     cli_commands[i].name);
        }
    }
    if (!list[0]) {
        return wrong(c, "--%s stands without a command: kiln --%s",
                     cli_options[option].name, cli_options[option].name);
    }
    return wrong(c, "%s does not take --%s; these do: %s", command_name(c),
                 cli_options[option].name, list);
}

static bool has_empty_name(const char *list)
{
    const size_t n = strlen(list);
    return n == 0 || list[0] == ',' || list[n - 1] == ',' || strstr(list, ",,");
}

static cli_status set_value(cli *c, cli_option option, const char *value)
{
    const cli_option_row *row = &cli_options[option];
    if (row->kind == CLI_REPEATED) {
        assert(option == CLI_OPT_SPEC);
        c->specs[c->n_specs++] = value;
    } else if (c->value[option]) {
        return wrong(c, "--%s given twice", row->name);
    }
    if (row->kind != CLI_FLAG && !value[0]) {
        return wrong(c, "--%s wants a %s, not an empty text", row->name,
                     row->argument);
    }
    if (row->kind == CLI_LIST && has_empty_name(value)) {
        return wrong(c, "--%s: an empty name in \"%.80s\"", row->name, value);
    }
    c->value[option] = value;
    return CLI_RUN;
}

/* The option at argv[*at]; *at goes on to its last word. */
static cli_status parse_option(cli *c, int argc, char **argv, int *at)
{
    const char *arg = argv[*at];
    const char *equals = strchr(arg, '=');
    const size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    const cli_option option =
        arg[1] == '-' ? find_option(arg + 2, n - 2) : CLI_OPTIONS;
    if (option == CLI_OPTIONS) {
        return unknown_option(c, arg, n);
    }
    const cli_option_row *row = &cli_options[option];
    if (!takes(c, option)) {
        return foreign_option(c, option);
    }
    if (row->kind == CLI_FLAG) {
        return equals ? wrong(c, "--%s takes no value", row->name)
                      : set_value(c, option, row->name);
    }
    if (equals) {
        return set_value(c, option, equals + 1);
    }
    if (*at + 1 == argc || strncmp(argv[*at + 1], "--", 2) == 0) {
        return wrong(c, "--%s wants a %s", row->name, row->argument);
    }
    return set_value(c, option, argv[++*at]);
}

/* --- all ------------------------------------------------------------------ */

static cli_status check_args(cli *c)
{
    const cli_command_row *row = &cli_commands[c->command];
    if (row->argument && c->n_args == 0) {
        return wrong(c, "%s wants at least one %s", row->name, row->argument);
    }
    if (!row->argument && c->n_args > 0) {
        return wrong(c, "%s takes no arguments: %.80s", row->name, c->args[0]);
    }
    for (size_t i = 0; i < c->n_args; i++) {
        if (!c->args[i][0]) {
            return wrong(c, "%s: an empty %s", row->name, row->argument);
        }
    }
    return CLI_RUN;
}

/* The words after the command. */
static cli_status parse_words(cli *c, int argc, char **argv, int at)
{
    bool options = true;
    for (; at < argc; at++) {
        if (options && strcmp(argv[at], "--") == 0) {
            options = false;
        } else if (options && argv[at][0] == '-' && argv[at][1]) {
            const cli_status status = parse_option(c, argc, argv, &at);
            if (status != CLI_RUN) {
                return status;
            }
            if (c->value[CLI_OPT_HELP]) {
                return CLI_HELP;
            }
            if (c->value[CLI_OPT_VERSION]) {
                return CLI_VERSION;
            }
        } else if (c->command == CLI_NONE) {
            return wrong(c, "the command comes first");
        } else {
            c->args[c->n_args++] = argv[at];
        }
    }
    return CLI_RUN;
}

cli_status cli_parse(cli *c, int argc, char **argv, const char **room)
{
    int at = 1;
    *c = (cli){.command = CLI_NONE, .specs = room, .args = room + argc};
    if (argc > 1 && argv[1][0] != '-') {
        const cli_status found = find_command(c, argv[1]);
        if (found != CLI_RUN) {
            return found;
        }
        at = 2;
    }
    const cli_status status = parse_words(c, argc, argv, at);
    if (status != CLI_RUN) {
        return status;
    }
    if (c->command == CLI_NONE) {
        return wrong(c, "a command is missing");
    }
    return check_args(c);
}
