/* sources: gen/cli.c gen/help.c gen/near.c gen/diag.c gen/depfile.c */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"
#include "depfile.h"
#include "diag.h"
#include "help.h"
#include "near.h"

/* --- the command line ----------------------------------------------------- */

#define WORDS 12

/* A command line of words that '|' joins. */
typedef struct line {
    char text[200];
    char *argv[WORDS + 1];
    const char *room[2 * WORDS];
    int argc;
    cli cli;
} line;

static cli_status parse(line *l, const char *words)
{
    snprintf(l->text, sizeof l->text, "kiln|%s", words);
    l->argc = 0;
    for (char *at = l->text; at; l->argc++) {
        assert_true(l->argc < WORDS);
        l->argv[l->argc] = at;
        at = strchr(at, '|');
        if (at) {
            *at++ = '\0';
        }
    }
    l->argv[l->argc] = NULL;
    return cli_parse(&l->cli, l->argc, l->argv, l->room);
}

static void test_good_lines(void **state)
{
    (void)state;
    line l;
    assert_int_equal(parse(&l, "gen"), CLI_RUN);
    assert_int_equal(l.cli.command, CLI_GEN);
    assert_int_equal(l.cli.n_specs, 0);
    assert_string_equal(cli_out(&l.cli), "out");
    assert_null(l.cli.value[CLI_OPT_CHECK]);

    assert_int_equal(parse(&l, "gen|--spec|a|--spec=b=c|--out|o|--check|"
                               "--tier=cpu,sm80|--depfile|d"),
                     CLI_RUN);
    assert_int_equal(l.cli.n_specs, 2);
    assert_string_equal(l.cli.specs[0], "a");
    assert_string_equal(l.cli.specs[1], "b=c");
    assert_string_equal(cli_out(&l.cli), "o");
    assert_string_equal(l.cli.value[CLI_OPT_TIER], "cpu,sm80");
    assert_string_equal(l.cli.value[CLI_OPT_DEPFILE], "d");
    assert_non_null(l.cli.value[CLI_OPT_CHECK]);

    assert_int_equal(parse(&l, "explain|softmax/looped f16 M=4096|-|--|--x"),
                     CLI_RUN);
    assert_int_equal(l.cli.n_args, 3);
    assert_string_equal(l.cli.args[0], "softmax/looped f16 M=4096");
    assert_string_equal(l.cli.args[1], "-");
    assert_string_equal(l.cli.args[2], "--x");
    assert_null(cli_out(&l.cli));

    assert_int_equal(parse(&l, "candidates|--only|new"), CLI_RUN);
    assert_string_equal(cli_out(&l.cli), "build/candidates");
    assert_int_equal(parse(&l, "census|--out.json|--"), CLI_WRONG);
}

static void test_help_and_version(void **state)
{
    (void)state;
    line l;
    assert_int_equal(parse(&l, "--help"), CLI_HELP);
    assert_int_equal(l.cli.command, CLI_NONE);
    assert_int_equal(parse(&l, "certify|--help"), CLI_HELP);
    assert_int_equal(l.cli.command, CLI_CERTIFY);
    assert_int_equal(parse(&l, "explain|--help|--bogus"), CLI_HELP);
    assert_int_equal(parse(&l, "--version"), CLI_VERSION);
}

static void test_usage_errors(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"gen|--outt|x", "unknown option --outt; did you mean --out?"},
        {"gen|--chek", "unknown option --chek; did you mean --check?"},
        {"gen|--otu=x", "unknown option --otu; did you mean --out?"},
        {"keys|--outt|x", "unknown option --outt"},
        {"gen|--frobnicate", "unknown option --frobnicate"},
        {"gen|-x", "unknown option -x"},
        {"gne", "unknown command gne; did you mean gen?"},
        {"explian|x", "unknown command explian; did you mean explain?"},
        {"frobnicate", "unknown command frobnicate"},
        {"--spec|x", "the command comes first: kiln COMMAND --spec"},
        {"--|gen", "the command comes first"},
        {"--", "a command is missing"},
        {"gen|x", "gen takes no arguments: x"},
        {"explain", "explain wants at least one KEY"},
        {"census|a|", "census: an empty FILE"},
        {"gen|--out", "--out wants a DIR"},
        {"gen|--out|--check", "--out wants a DIR"},
        {"gen|--out=", "--out wants a DIR, not an empty text"},
        {"gen|--spec|", "--spec wants a DIR, not an empty text"},
        {"gen|--out=a|--out=b", "--out given twice"},
        {"gen|--check|--check", "--check given twice"},
        {"gen|--check=yes", "--check takes no value"},
        {"gen|--ops|a,,b", "--ops: an empty name in \"a,,b\""},
        {"gen|--ops|,a", "--ops: an empty name in \",a\""},
        {"gen|--ops=a,", "--ops: an empty name in \"a,\""},
        {"keys|--depfile|d",
         "keys does not take --depfile; these do: gen, candidates"},
        {"gen|--version", "--version stands without a command: kiln "
                          "--version"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        line l;
        assert_int_equal(parse(&l, cases[i][0]), CLI_WRONG);
        assert_string_equal(l.cli.why, cases[i][1]);
    }
    char *none[] = {NULL, NULL};
    const char *room[2];
    cli c;
    none[0] = (char[]){"kiln"};
    assert_int_equal(cli_parse(&c, 1, none, room), CLI_WRONG);
    assert_string_equal(c.why, "a command is missing");
}

/* A line of any length is told in a bounded one. */
static void test_long_words(void **state)
{
    (void)state;
    char word[5000];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    memcpy(word, "--", 2);
    char *argv[] = {(char[]){"kiln"}, (char[]){"gen"}, word, NULL};
    const char *room[6];
    cli c;
    assert_int_equal(cli_parse(&c, 3, argv, room), CLI_WRONG);
    argv[2] = word + 2;
    assert_int_equal(cli_parse(&c, 3, argv, room), CLI_WRONG);
    argv[1] = word + 2;
    assert_int_equal(cli_parse(&c, 2, argv, room), CLI_WRONG);
}

/* --- help ----------------------------------------------------------------- */

static char *page(cli_command command)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    help_write(command, to);
    fclose(to);
    return text;
}

/* Every page has its sections and exactly the options that it takes. */
static void test_help_pages(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "NAME\n",          "\nSYNOPSIS\n", "\nDESCRIPTION\n", "\nOPTIONS\n",
        "\nEXIT STATUS\n", "\nFILES\n",    "\nEXAMPLES\n"};
    for (int i = 0; i <= CLI_COMMANDS; i++) {
        char *text = page((cli_command)i);
        for (size_t j = 0; j < sizeof heads / sizeof heads[0]; j++) {
            assert_non_null(strstr(text, heads[j]));
        }
        for (int j = 0; j < CLI_OPTIONS; j++) {
            char head[64];
            const cli_option_row *row = &cli_options[j];
            snprintf(head, sizeof head, "\n       --%s%s%s\n", row->name,
                     row->argument ? " " : "",
                     row->argument ? row->argument : "");
            assert_int_equal(strstr(text, head) != NULL,
                             row->commands >> i & 1);
        }
        for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
            const size_t n = strcspn(at, "\n");
            assert_true(n <= 80);
            assert_true(n == 0 || at[n - 1] != ' ');
        }
        free(text);
    }
    char *text = page(CLI_CANDIDATES);
    assert_non_null(strstr(text, "(default: build/candidates)"));
    free(text);
}

/* --- names ---------------------------------------------------------------- */

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(near_distance("", ""), 0);
    assert_int_equal(near_distance("", "abc"), 3);
    assert_int_equal(near_distance("kitten", "sitting"), 3);
    assert_int_equal(near_distance("gne", "gen"), 1);
    assert_int_equal(near_distance("ca", "abc"), 3);
    assert_int_equal(near_distance("abcd", "badc"), 2);
    assert_int_equal(near_distance("softmax", "softmax"), 0);
    char word[NEAR_LONGEST + 2];
    memset(word, 'a', sizeof word);
    word[NEAR_LONGEST] = '\0';
    assert_int_equal(near_distance(word, "a"), NEAR_LONGEST - 1);
    word[NEAR_LONGEST] = 'a';
    word[NEAR_LONGEST + 1] = '\0';
    assert_true(near_distance(word, "a") == SIZE_MAX);
}

/* --- messages ------------------------------------------------------------- */

/* Requests until none is granted; negative: all are. */
static void *allocate(void *user, void *old, size_t old_n, size_t n)
{
    long *left = user;
    (void)old_n;
    if (n == 0) {
        free(old);
        return NULL;
    }
    if (*left == 0) {
        return NULL;
    }
    *left -= *left > 0;
    return realloc(old, n);
}

static char *written(diag *sink)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    assert_true(diag_write(sink, to));
    fclose(to);
    return text;
}

static void test_order_of_messages(void **state)
{
    (void)state;
    long left = -1;
    diag *sink = diag_create(allocate, &left);
    diag_add(sink, "b", 2, 1, "four");
    diag_add(sink, "b", 1, 9, "three");
    diag_add(sink, "b", 1, 2, "%s", "one");
    diag_add(sink, "b", 1, 2, "two");
    diag_add(sink, "a/b", 10, 0, "line");
    diag_add(sink, "a/b", 0, 5, "file");
    diag_add(sink, NULL, 1, 0, "none");
    diag_add(sink, "", 0, 0, "esc \x1b[1m \n \x7f \xC3\xBC");
    assert_int_equal(diag_count(sink), 8);
    char *text = written(sink);
    assert_string_equal(text, "kiln: esc \\x1b[1m \\n \\x7f \xC3\xBC\n"
                              "kiln:1: none\n"
                              "a/b: file\n"
                              "a/b:10: line\n"
                              "b:1:2: one\n"
                              "b:1:2: two\n"
                              "b:1:9: three\n"
                              "b:2:1: four\n");
    free(text);
    text = written(sink);
    assert_string_equal(text, "");
    assert_int_equal(diag_count(sink), 8);
    free(text);
    diag_destroy(sink);
}

/* At, below and above the number that is shown of a file. */
static void test_bound_of_messages(void **state)
{
    (void)state;
    for (int n = DIAG_SHOWN - 1; n <= DIAG_SHOWN + 2; n++) {
        long left = -1;
        diag *sink = diag_create(allocate, &left);
        for (int i = n; i > 0; i--) {
            diag_add(sink, "f", i, 1, "m");
        }
        diag_add(sink, "g", 1, 1, "m");
        char *text = written(sink);
        assert_non_null(strstr(text, "f:1:1: m\nf:2:1: m\n"));
        assert_non_null(strstr(text, "g:1:1: m\n"));
        assert_int_equal(strstr(text, "f:20:1: m\n") != NULL, n >= DIAG_SHOWN);
        assert_null(strstr(text, "f:21:"));
        char more[40];
        snprintf(more, sizeof more, "f: and %d more\ng", n - DIAG_SHOWN);
        assert_int_equal(strstr(text, more) != NULL, n > DIAG_SHOWN);
        free(text);
        diag_destroy(sink);
    }
}

static void test_long_message(void **state)
{
    (void)state;
    long left = -1;
    char word[3000];
    diag *sink = diag_create(allocate, &left);
    for (size_t i = 0; i + 2 < sizeof word; i += 2) {
        memcpy(word + i, "\xC3\xBC", 3);
    }
    diag_add(sink, "f", 0, 0, "%s", word);
    char *text = written(sink);
    const size_t n = strlen(text);
    assert_true(n < 1010 && n > 990);
    assert_string_equal(text + n - 6, "\xC3\xBC...\n");
    free(text);
    diag_destroy(sink);
}

static void test_lost_messages(void **state)
{
    (void)state;
    long left = 0;
    assert_null(diag_create(allocate, &left));
    for (long n = 1; n < 4; n++) {
        left = n;
        diag *sink = diag_create(allocate, &left);
        diag_add(sink, "f", 1, 1, "a");
        diag_add(sink, "f", 2, 1, "b");
        assert_int_equal(diag_count(sink), 2);
        assert_int_equal(diag_lost(sink), n < 3 ? 2 : 1);
        char *text = written(sink);
        assert_string_equal(text, n < 3 ? "" : "f:1:1: a\n");
        free(text);
        diag_destroy(sink);
    }
}

static void test_full_disk(void **state)
{
    (void)state;
    long left = -1;
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        skip();
    }
    diag *sink = diag_create(allocate, &left);
    diag_add(sink, "f", 1, 1, "a");
    assert_false(diag_write(sink, full));
    fclose(full);
    diag_destroy(sink);
}

/* --- the dependency file -------------------------------------------------- */

static char *content(const char *path)
{
    static char text[2000];
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    fclose(from);
    return text;
}

static void test_depfile(void **state)
{
    (void)state;
    static const char *const inputs[] = {
        "sp ec", "sp ec/a#b$c%d:e.yaml", "x\\y", "x\\ y", "~u", "w*[?]\\"};
    long left = -1;
    char folder[] = "/tmp/kiln_cli_XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/d.mk", folder);
    diag *sink = diag_create(allocate, &left);
    assert_true(depfile_write(path, "o%t/M F", inputs, 6, sink));
    assert_string_equal(content(path), "o\\%t/M\\ F: \\\n"
                                       "  sp\\ ec \\\n"
                                       "  sp\\ ec/a\\#b$$c%d\\:e.yaml \\\n"
                                       "  x\\y \\\n"
                                       "  x\\\\\\ y \\\n"
                                       "  ./~u \\\n"
                                       "  w\\*\\[\\?\\]\\\\\n"
                                       "sp\\ ec:\n"
                                       "sp\\ ec/a\\#b$$c\\%d\\:e.yaml:\n"
                                       "x\\y:\n"
                                       "x\\\\\\ y:\n"
                                       "./~u:\n"
                                       "w\\*\\[\\?\\]\\\\:\n");
    static const char *const broken[] = {"a\nb"};
    assert_false(depfile_write(path, "t", broken, 1, sink));
    assert_non_null(strstr(content(path), "o\\%t"));
    remove(path);
    assert_false(depfile_write(folder, "t", inputs, 1, sink));
    snprintf(path, sizeof path, "%s/no/d.mk", folder);
    assert_false(depfile_write(path, "t", inputs, 1, sink));
    assert_int_equal(diag_count(sink), 3);
    diag_destroy(sink);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_lines),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_usage_errors),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_help_pages),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_order_of_messages),
        cmocka_unit_test(test_bound_of_messages),
        cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_lost_messages),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_depfile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
