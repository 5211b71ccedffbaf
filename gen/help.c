#include "help.h"

#include <string.h>

#define WIDTH 78
#define INDENT 7
#define HANG 11 /* of an option's text */

static const char kiln_text[] =
    "kiln bakes kernels ahead of time. Specs in YAML say what every operator "
    "must compute, how it may be tiled and on which chips; kiln writes plain "
    "C sources from them, and tables by which the runtime finds the one "
    "kernel that was certified for a launch.\n"
    "A launch is named by its key: variant, dtypes, baked attributes, layout "
    "class and size buckets. Only keys with a certificate are served. The "
    "way to a new certificate is: kiln candidates, then the runner on the "
    "device, then kiln certify, then kiln gen.\n"
    "What is wrong with the input is shown as PATH:LINE:COLUMN: MESSAGE, all "
    "of it in one run, at most 20 messages a file. Nothing is written when "
    "anything is wrong.";

static const char gen_text[] =
    "Reads the specs and their certificates and writes the whole tree: the "
    "kernels' sources, the tables of ops, routes, keys and launches as C "
    "data, KEYS.tsv, COVERAGE.tsv, RESOURCES.tsv, STALE.tsv and MANIFEST.\n"
    "The same specs give the same bytes on every machine. The tree is put in "
    "place at once: a kill or a full disk leaves the old tree or the new "
    "one. Where two names cannot be exchanged (mounts, overlayfs), a "
    "journal beside the tree holds all that is to be done; a kill may then "
    "leave a mixture, and the next run finishes it. Files that did not "
    "change keep their times, files of an earlier run that are no longer "
    "emitted go, foreign files stay.\n"
    "With --check, the files that differ are listed, then the command that "
    "mends them. --depfile is then without effect: nothing is written.";

static const char check_text[] =
    "Reads and checks everything that gen would read: fields, types, names, "
    "expressions, buckets (complete and without overlap), configs against "
    "the chips' limits, keys a group. When all is well, says how many ops "
    "and keys there are.";

static const char keys_text[] =
    "Lists the launch keys that the specs declare and the census needs, one "
    "a line, with what is known of each, separated by tabs and sorted by "
    "bytes; the first line names the columns.";

static const char explain_text[] =
    "Tells the spec that KEY comes from, its buckets, the kernel and config "
    "that serve it with their evidence; or why nothing does: the nearest "
    "keys, the spec to edit, and the command that would certify it. KEY is a "
    "text that kiln keys prints, or a call, whose route, cost and keys are "
    "told: an op, its tensors as NAME=DTYPE[SIZES] with strides in elements "
    "behind a colon where they are not dense, and attributes as NAME=VALUE. "
    "Quote it for the shell. Exits with 3 when a key is stale or not "
    "certified.";

static const char census_text[] =
    "FILE is a model's config.json. Plans the calls that spec/census says "
    "such a model makes, without running them, and lists each call with the "
    "keys that it needs and whether they are certified. Exits with 3 when "
    "one of them is not.";

static const char cases_text[] =
    "Prints a line for every kernel of out/ with a few small calls of its "
    "domain: sizes with tails, at the ends of its buckets. It is what the "
    "runner of certificates reads, and what tests of emitted kernels run.";

static const char candidates_text[] =
    "Writes a tree as gen does, but with every config that the tiling specs "
    "allow and the chips can hold, and the list of what is to be measured. "
    "Built and run on the device (make certify), it gives the evidence for "
    "kiln certify. --keys and --only narrow it; that nothing is left is an "
    "error.";

static const char certify_text[] =
    "Reads evidence, one JSON object a line, as the runner writes it; judges "
    "it against the specs' limits; and rewrites the certificates of its tier "
    "under spec/certified, of the last --spec folder where there are "
    "several. Run kiln gen afterwards. A line that is malformed, or that "
    "belongs to another source than the present one, is an error, and "
    "nothing is written.";

static const char *const texts[] = {
    [CLI_GEN] = gen_text,
    [CLI_CHECK] = check_text,
    [CLI_KEYS] = keys_text,
    [CLI_EXPLAIN] = explain_text,
    [CLI_CENSUS] = census_text,
    [CLI_CASES] = cases_text,
    [CLI_CANDIDATES] = candidates_text,
    [CLI_CERTIFY] = certify_text,
    [CLI_NONE] = kiln_text,
};

static const char *const examples[] = {
    [CLI_GEN] = "kiln gen\n"
                "kiln gen --check\n"
                "kiln gen --spec kiln/spec --spec ours --out build/out",
    [CLI_CHECK] = "kiln check --spec spec --spec ours",
    [CLI_KEYS] = "kiln keys --ops softmax,silu --tier cpu",
    [CLI_EXPLAIN] =
        "kiln explain 'softmax/looped f16 log=0 contiguous M=64 N=32768'\n"
        "kiln explain 'softmax x=f16[4096,1024] dim=-1'",
    [CLI_CENSUS] = "kiln census spec/census/llama-3-8b.json",
    [CLI_CASES] = "kiln cases --tier sm90 --ops softmax",
    [CLI_CANDIDATES] = "kiln candidates --tier cpu --ops softmax --only new",
    [CLI_CERTIFY] = "kiln certify build/certify/cpu.jsonl",
    [CLI_NONE] = ("kiln gen --help\n"
                  "kiln gen --check"),
};

/* --- layout --------------------------------------------------------------- */

static void pad(int n, FILE *to)
{
    fprintf(to, "%*s", n, "");
}

/* One paragraph, filled to WIDTH behind `indent` blanks. */
static void write_paragraph(const char *text, size_t n, int indent, FILE *to)
{
    const char *end = text + n;
    int col = 0;
    while (text < end) {
        const char *stop = memchr(text, ' ', (size_t)(end - text));
        const int size = (int)((stop ? stop : end) - text);
        if (col > 0 && col + 1 + size > WIDTH) {
            fputc('\n', to);
            col = 0;
        }
        pad(col == 0 ? indent : 1, to);
        fwrite(text, 1, (size_t)size, to);
        col += (col == 0 ? indent : 1) + size;
        text += size + 1;
    }
    fputc('\n', to);
}

/* Paragraphs that \n ends, a blank line between them. */
static void write_text(const char *text, int indent, FILE *to)
{
    for (;;) {
        const size_t n = strcspn(text, "\n");
        write_paragraph(text, n, indent, to);
        if (!text[n]) {
            return;
        }
        fputc('\n', to);
        text += n + 1;
    }
}

static void write_lines(const char *text, FILE *to)
{
    while (*text) {
        const int n = (int)strcspn(text, "\n");
        pad(INDENT, to);
        fprintf(to, "%.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
}

static void head(const char *title, FILE *to)
{
    fprintf(to, "\n%s\n", title);
}

/* --- sections ------------------------------------------------------------- */

void help_usage(cli_command command, FILE *to)
{
    if (command == CLI_NONE) {
        fputs("kiln COMMAND [options] [arguments]", to);
        return;
    }
    const cli_command_row *row = &cli_commands[command];
    fprintf(to, "kiln %s [options]", row->name);
    if (row->argument) {
        fprintf(to, " %s...", row->argument);
    }
}

static void write_name(cli_command command, FILE *to)
{
    fputs("NAME\n", to);
    pad(INDENT, to);
    if (command == CLI_NONE) {
        fputs("kiln - bake certified kernels from specs\n", to);
    } else {
        fprintf(to, "kiln %s - %s\n", cli_commands[command].name,
                cli_commands[command].line);
    }
    head("SYNOPSIS", to);
    pad(INDENT, to);
    help_usage(command, to);
    fputc('\n', to);
    if (command == CLI_NONE) {
        write_lines("kiln COMMAND --help\nkiln --help\nkiln --version", to);
    }
}

static void write_commands(FILE *to)
{
    head("COMMANDS", to);
    for (int i = 0; i < CLI_COMMANDS; i++) {
        pad(INDENT, to);
        fprintf(to, "%-12s%s\n", cli_commands[i].name, cli_commands[i].line);
    }
}

static void write_option(cli_command command, cli_option option, FILE *to)
{
    const cli_option_row *row = &cli_options[option];
    const char *out = command < CLI_COMMANDS ? cli_commands[command].out : NULL;
    char text[200];
    pad(INDENT, to);
    fprintf(to, "--%s%s%s\n", row->name, row->argument ? " " : "",
            row->argument ? row->argument : "");
    snprintf(text, sizeof text, "%s%s%s%s.", row->line,
             option == CLI_OPT_OUT ? " (default: " : "",
             option == CLI_OPT_OUT ? out : "",
             option == CLI_OPT_OUT ? ")" : "");
    write_text(text, HANG, to);
}

static void write_options(cli_command command, FILE *to)
{
    head("OPTIONS", to);
    write_text("--NAME=VALUE and --NAME VALUE mean the same; -- ends the "
               "options.",
               INDENT, to);
    for (int i = 0; i < CLI_OPTIONS; i++) {
        if (cli_options[i].commands & (1u << command)) {
            fputc('\n', to);
            write_option(command, (cli_option)i, to);
        }
    }
}

static void write_exit(FILE *to)
{
    head("EXIT STATUS", to);
    write_lines("0      done\n"
                "1      the input is wrong; the messages say where\n"
                "2      the command line is wrong\n"
                "3      something is stale, not certified, or differs\n"
                "4      reading or writing failed, memory ran out, or kiln\n"
                "       itself is wrong (internal error)",
                to);
}

static void write_files(FILE *to)
{
    head("FILES", to);
    write_lines("spec/op, spec/tiling, spec/arch    what kernels must do\n"
                "spec/buckets.yaml                  size buckets\n"
                "spec/budget.yaml                   bounds of the tree\n"
                "spec/census                        calls of known models\n"
                "spec/certified/TIER                certificates\n"
                "out                                the generated tree",
                to);
}

void help_write(cli_command command, FILE *to)
{
    write_name(command, to);
    head("DESCRIPTION", to);
    write_text(texts[command], INDENT, to);
    if (command == CLI_NONE) {
        write_commands(to);
    }
    write_options(command, to);
    write_exit(to);
    write_files(to);
    head("EXAMPLES", to);
    write_lines(examples[command], to);
}
