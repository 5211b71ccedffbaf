/* sources: gen/bind.c gen/bind_call.c gen/bind_key.c gen/bind_plan.c gen/cli.c
 * gen/depfile.c gen/diag.c gen/help.c gen/host.c gen/hostlib.c gen/input.c
 * gen/load.c gen/marked.c gen/near.c gen/number.c gen/order.c gen/owned.c
 * gen/sandbox.c gen/schema.c gen/syntax.c gen/text.c gen/token.c
 * gen/tree.c gen/tree_fs.c gen/tree_journal.c gen/tree_place.c gen/tree_plan.c
 * gen/tree_record.c gen/tree_stage.c runtime/core/ build/embed_data.c */
/* libs: -llua5.4 -lyaml -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc */
/* kiln gen with allocations refused: it ends as without, or with status 4, and
 * the tree is the old one or the new one. Sanitizers tell of leaks at the end.
 * Allocations are those of our own code, Lua's too; libyaml's are its own.
 *
 * test_gen_memory all: refuses every one, not only each of the first and last
 * and a sample of those between.
 */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
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

/* The program itself, to be called again and again. */
int kiln_main(int argc, char **argv);
#define main kiln_main
#include "main.c"
#undef main

#define EACH 60    /* first and last allocations: all of them */
#define SAMPLES 60 /* of those between */
#define PATHS 512

/* --- refusing ------------------------------------------------------------- */

/* Which are refused: number first and, where `all`, those after it. */
static struct {
    long count; /* so far */
    long first; /* 0: none */
    bool all;
} rule;

static bool refuse(void)
{
    rule.count++;
    return rule.first > 0 &&
           (rule.count == rule.first || (rule.all && rule.count > rule.first));
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t n);

void *__wrap_malloc(size_t n)
{
    return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t n)
{
    return refuse() ? NULL : __real_realloc(old, n);
}

/* --- runs ----------------------------------------------------------------- */

static char folder[PATHS];

/* Silent, with allocations refused as told; what it writes goes to `said`. */
static int run_kiln(const char *command, const char *spec, const char *out,
                    long first, bool all)
{
    char spec_path[2 * PATHS], out_path[2 * PATHS], said[2 * PATHS];
    char *argv[] = {(char *)"kiln",
                    (char *)(uintptr_t)command,
                    (char *)"--spec",
                    spec_path,
                    (char *)"--out",
                    out_path,
                    NULL};
    const int streams[] = {dup(1), dup(2)};
    int status;

    snprintf(spec_path, sizeof spec_path, "%s/%s", folder, spec);
    snprintf(out_path, sizeof out_path, "%s/%s", folder, out);
    snprintf(said, sizeof said, "%s/said", folder);
    fflush(stdout);
    assert_non_null(freopen(said, "w", stdout));
    dup2(fileno(stdout), 2);
    rule.count = 0;
    rule.first = first;
    rule.all = all;
    status = kiln_main(6, argv);
    rule.first = 0;
    fflush(stdout);
    dup2(streams[0], 1);
    dup2(streams[1], 2);
    close(streams[0]);
    close(streams[1]);
    return status;
}

/* --- files ---------------------------------------------------------------- */

static FILE *open_file(const char *path, const char *mode)
{
    char full[2 * PATHS];
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", folder, path);
    file = fopen(full, mode);
    assert_non_null(file);
    return file;
}

static void make_folder(const char *path)
{
    char full[2 * PATHS];

    snprintf(full, sizeof full, "%s/%s", folder, path);
    assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
}

static void write_file_of(const char *spec, const char *path, const char *text)
{
    char full[PATHS];
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", spec, path);
    file = open_file(full, "w");
    fputs(text, file);
    fclose(file);
}

static uint64_t mix(uint64_t hash, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u; /* FNV-1a */
    }
    return hash;
}

static uint64_t hash_file(uint64_t hash, const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, sizeof bytes, file);
    assert_true(n < sizeof bytes);
    fclose(file);
    return mix(hash, bytes, n);
}

/* Names and bytes of all below path, whatever the order they are met in. */
static uint64_t hash_tree(const char *path)
{
    uint64_t sum = 0;
    struct dirent **names;
    const int n = scandir(path, &names, NULL, alphasort);

    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        char full[2 * PATHS];
        struct stat facts;
        const char *name = names[i]->d_name;

        snprintf(full, sizeof full, "%s/%s", path, name);
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            assert_int_equal(lstat(full, &facts), 0);
            sum = mix(sum, name, strlen(name) + 1);
            sum = S_ISDIR(facts.st_mode) ? sum * 31 + hash_tree(full)
                                         : hash_file(sum, full);
        }
        free(names[i]);
    }
    free(names);
    return sum;
}

/* Of the folder that holds the tree: leftovers beside it count. */
static uint64_t hash_out(void)
{
    char path[2 * PATHS];

    snprintf(path, sizeof path, "%s/trees", folder);
    return hash_tree(path);
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char full[2 * PATHS];

        snprintf(full, sizeof full, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            unlink(full) != 0) {
            remove_tree(full);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

/* --- a spec folder with certificates -------------------------------------- */

/* Of every candidate, as if all had passed. */
static void certify(const char *spec)
{
    char line[4096], path[PATHS], field[7][1024];
    FILE *list, *kernels, *keys;

    assert_int_equal(run_kiln("candidates", spec, "candidates", 0, false), 0);
    snprintf(path, sizeof path, "%s/certified", spec);
    make_folder(path);
    snprintf(path, sizeof path, "%s/certified/cpu", spec);
    make_folder(path);
    snprintf(path, sizeof path, "%s/certified/cpu/r.kernels.tsv", spec);
    kernels = open_file(path, "w");
    fputs("# isa\tkernel\thash\terror\tcases\tdevice\tcompiler\n", kernels);
    snprintf(path, sizeof path, "%s/certified/cpu/r.keys.tsv", spec);
    keys = open_file(path, "w");
    fputs("# isa\tkey\tranges\tconfig\tus\trunner_up\trunner_up_us\tdevice"
          "\treach\n",
          keys);
    list = open_file("candidates/CANDIDATES.tsv", "r");
    while (fgets(line, sizeof line, list) != NULL) {
        if (sscanf(line,
                   "%1023[^\t]\t%1023[^\t]\t%1023[^\t]\t%1023[^\t]\t%1023[^\t]"
                   "\t%1023[^\t]\t%1023[^\t]",
                   field[0], field[1], field[2], field[3], field[4], field[5],
                   field[6]) != 7) {
            continue;
        }
        if (strcmp(field[0], "kernel") == 0) {
            fprintf(kernels, "%s\t%s\t%s\t0.5\t7\tchip\tcc\n", field[2],
                    field[3], field[4]);
        } else if (strcmp(field[0], "key") == 0) {
            fprintf(keys, "%s\t%s\t%s\t%s\t1.5\t-\t-\tchip\tmeasured\n",
                    field[2], field[3], field[4], field[6]);
        }
    }
    fclose(list);
    fclose(kernels);
    fclose(keys);
}

static void write_spec(const char *spec, const char *formula)
{
    char op[PATHS];

    make_folder(spec);
    for (int i = 0; i < 3; i++) {
        static const char *const parts[] = {"op", "arch", "tiling"};

        snprintf(op, sizeof op, "%s/%s", spec, parts[i]);
        make_folder(op);
    }
    snprintf(op, sizeof op,
             "op: r\nfamily: elementwise\ntensors:\n"
             "  x: {role: in, dtype: [f32]}\n  y: {role: out, like: x}\n"
             "formula: %s\nlimits:\n  f32: {ulp: 4}\n",
             formula);
    write_file_of(spec, "op/r.yaml", op);
    write_file_of(spec, "arch/cpu.yaml",
                  "arch: cpu\ntier: cpu\nisa: [base]\nfields:\n"
                  "  row_tile: 64\n  lattice_bytes: 65536\n  cores: 2\n");
    write_file_of(spec, "buckets.yaml",
                  "ladders:\n  elements: [64]\n  rows: [64]\n  cols: [64]\n");
    write_file_of(spec, "tiling/elementwise.yaml",
                  "tiling: elementwise\ntiers:\n  cpu:\n"
                  "    map: {config: {block: [4096]}}\n");
    certify(spec);
}

static int set_up(void **state)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    (void)state;
    snprintf(folder, sizeof folder, "%s/kiln-memory.XXXXXX", base);
    assert_non_null(mkdtemp(folder));
    make_folder("trees");
    write_spec("one", "max(x, 0)");
    write_spec("two", "max(x, 0) * 2");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

/* --- the test ------------------------------------------------------------- */

static bool every;

/* Gives the spec that the tree is not of, with allocations refused. */
typedef struct alternation {
    const char *specs[2];
    uint64_t trees[2];
    int now; /* of whose spec the tree is */
    long done;
    long refused;
} alternation;

static void try_from(alternation *a, long first, bool all)
{
    const int other = 1 - a->now;
    const int status =
        run_kiln("gen", a->specs[other], "trees/out", first, all);

    a->done += status == 0;
    a->refused += status == BROKEN;
    if (status != 0 && status != BROKEN) {
        fail_msg("allocation %ld%s: status %d", first, all ? " on" : "",
                 status);
    }
    if (status == 0) {
        a->now = other;
    }
    if (hash_out() != a->trees[a->now]) {
        fail_msg("allocation %ld%s, status %d: the tree is neither", first,
                 all ? " on" : "", status);
    }
}

static void test_each(void **state)
{
    alternation a = {{"one", "two"}, {0, 0}, 0, 0, 0};
    long most = 0;
    long step;

    (void)state;
    for (int i = 1; i >= 0; i--) {
        assert_int_equal(run_kiln("gen", a.specs[i], "trees/out", 0, false), 0);
        a.trees[i] = hash_out();
        most = rule.count > most ? rule.count : most;
    }
    assert_true(a.trees[0] != a.trees[1]);
    assert_true(most > 1000);
    step = every ? 1 : most / SAMPLES;
    for (long n = 1; n <= most; n += n <= EACH || n > most - EACH ? 1 : step) {
        try_from(&a, n, true);
        try_from(&a, n, false);
    }
    print_message("# %ld allocations; %ld runs ended whole, %ld of status 4\n",
                  most, a.done, a.refused);
    assert_true(a.done > 0 && a.refused > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each)};

    every = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests_name("gen_memory", tests, set_up, tear_down);
}
