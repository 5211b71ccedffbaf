/* help.h: the --help texts. Options, commands and defaults come from the
 * tables of cli.h; what each command does is told here.
 */
#ifndef KILN_GEN_HELP_H
#define KILN_GEN_HELP_H

#include <stdio.h>

#include "cli.h"

/* Writes the page of a command, or of kiln itself for CLI_NONE. */
void help_write(cli_command command, FILE *to);

/* The command line in short: "kiln explain [options] KEY...". */
void help_usage(cli_command command, FILE *to);

#endif /* KILN_GEN_HELP_H */
