/* cli.h: what may stand on the command line, as data. Parsing, usage errors
 * and the help texts come from the two tables here.
 */
#ifndef KILN_GEN_CLI_H
#define KILN_GEN_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* ORDER: commands, as in cli_commands. */
typedef enum cli_command {
    CLI_GEN,
    CLI_CHECK,
    CLI_KEYS,
    CLI_EXPLAIN,
    CLI_CENSUS,
    CLI_CASES,
    CLI_CANDIDATES,
    CLI_CERTIFY,
    CLI_COMMANDS,
    CLI_NONE = CLI_COMMANDS /* no command: --help and --version alone */
} cli_command;

typedef struct cli_command_row {
    const char *name;
    const char *argument; /* "FILE": one or more; NULL: none */
    const char *out;      /* default of --out; NULL: writes no tree */
    const char *line;     /* what it does, in a line */
} cli_command_row;

extern const cli_command_row cli_commands[CLI_COMMANDS];

typedef enum cli_kind {
    CLI_FLAG,    /* no value */
    CLI_TEXT,    /* one value */
    CLI_LIST,    /* one value: names joined by commas */
    CLI_REPEATED /* may be given again: values in their order */
} cli_kind;

/* ORDER: options, as in cli_options. */
typedef enum cli_option {
    CLI_OPT_SPEC,
    CLI_OPT_OUT,
    CLI_OPT_TIER,
    CLI_OPT_OPS,
    CLI_OPT_KEYS,
    CLI_OPT_ONLY,
    CLI_OPT_DEPFILE,
    CLI_OPT_CHECK,
    CLI_OPT_HELP,
    CLI_OPT_VERSION,
    CLI_OPTIONS
} cli_option;

typedef struct cli_option_row {
    const char *name;     /* without the dashes */
    const char *argument; /* "DIR"; NULL: a flag */
    cli_kind kind;
    unsigned commands; /* bit 1 << cli_command of each that takes it */
    const char *line;
} cli_option_row;

extern const cli_option_row cli_options[CLI_OPTIONS];

/* A parsed command line. Texts are argv's; the arrays are the caller's. */
typedef struct cli {
    cli_command command;
    const char *value[CLI_OPTIONS]; /* NULL: not given; a flag: its name */
    const char **specs;
    size_t n_specs; /* 0: not given */
    const char **args;
    size_t n_args;
    char why[320]; /* the usage error */
} cli;

typedef enum cli_status {
    CLI_RUN,
    CLI_HELP, /* of c->command, which may be CLI_NONE */
    CLI_VERSION,
    CLI_WRONG /* c->why says what */
} cli_status;

/* `room` holds 2 * argc pointers and lives as long as c. */
cli_status cli_parse(cli *c, int argc, char **argv, const char **room);

/* The tree to write: --out, or the command's default. */
const char *cli_out(const cli *c);

#endif /* KILN_GEN_CLI_H */
