/* main.c: runs a command of cases.h:
 *
 *   cases [--zero | --error] tensor
 *   ...                      layouts
 *   ...                      process
 *   ...                      first-use PROCESSES REPETITIONS
 *   ...                      buckets MOST ELEMENTS ROWS COLS LATTICE_BYTES
 *   ...                      dispatch CANDIDATES.tsv KEYS.tsv
 *   ...                      random CALLS SEED
 *   ...                      same
 *   ...                      refusals
 *   ...                      undeclared
 *   ...                      memory
 *
 * --zero, --error: zero-capabilities, what the system says of itself is 0 or
 * an error.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "lie.h"

#define SECONDS 300

static bool run(tally *all, int argc, char **argv)
{
    const char *command = argc > 0 ? argv[0] : "";

    if (strcmp(command, "tensor") == 0 && argc == 1) {
        cases_tensor(all);
    } else if (strcmp(command, "layouts") == 0 && argc == 1) {
        cases_layouts(all);
    } else if (strcmp(command, "process") == 0 && argc == 1) {
        cases_process(all);
    } else if (strcmp(command, "first-use") == 0 && argc == 3) {
        cases_first_use(all, atoi(argv[1]), atoi(argv[2]));
    } else if (strcmp(command, "buckets") == 0 && argc == 6) {
        cases_buckets(all, atoll(argv[1]), argv + 2, atoll(argv[5]));
    } else if (strcmp(command, "dispatch") == 0 && argc == 3) {
        cases_dispatch(all, argv[1], argv[2]);
    } else if (strcmp(command, "random") == 0 && argc == 3) {
        cases_random(all, atoi(argv[1]), strtoull(argv[2], NULL, 10));
    } else if (strcmp(command, "same") == 0 && argc == 1) {
        cases_same(all);
    } else if (strcmp(command, "refusals") == 0 && argc == 1) {
        cases_refusals(all);
    } else if (strcmp(command, "undeclared") == 0 && argc == 1) {
        cases_undeclared(all);
    } else if (strcmp(command, "memory") == 0 && argc == 1) {
        cases_memory(all);
    } else {
        return false;
    }
    tally_missing(command);
    return true;
}

int main(int argc, char **argv)
{
    tally all = {0};
    int skip = 1;

    alarm(SECONDS);
    if (argc > 1 && strcmp(argv[1], "--zero") == 0) {
        lie_set(LIE_ZERO);
        skip = 2;
    } else if (argc > 1 && strcmp(argv[1], "--error") == 0) {
        lie_set(LIE_ERROR);
        skip = 2;
    }
    if (!run(&all, argc - skip, argv + skip)) {
        fputs("usage: cases [--zero | --error] COMMAND ...\n", stderr);
        return 2;
    }
    return all.failed > 0;
}
