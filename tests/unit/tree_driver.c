/* tree_driver.c: commits one of two fixed states of a tree, for tree_kill.sh.
 *
 *     tree_driver ROOT old|new     exit status 0, or 1 with messages
 */
#include "tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG 20000

void diag_add(diag *sink, const char *path, int line, int col,
              const char *format, ...)
{
    va_list args;
    (void)sink;
    (void)line;
    (void)col;
    fprintf(stderr, "%s: ", path);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static tree_file file_of(const char *path, const char *text)
{
    return (tree_file){path, text, strlen(text)};
}

static enum tree_status commit_old(const char *root, const char *big)
{
    const tree_file files[] = {
        file_of("MANIFEST", "old\n"),   file_of("a/1.c", "int a1;\n"),
        file_of("a/2.c", "int a2;\n"),  file_of("b/c/1.cu", "old b\n"),
        file_of("dir/z.c", "int z;\n"), file_of("flip", "flip\n"),
        file_of("gone/d/y.c", "old y"), file_of("gone/x.c", "old x"),
        file_of("stay.c", "int stay;"), {"table/big.c", big, BIG / 2},
    };
    const tree_change change = {root, files, sizeof files / sizeof files[0],
                                NULL, 0};
    return tree_commit(&change, NULL);
}

/* Four changed files, five added, four removed; a file becomes a directory
 * and a directory a file; two stay. */
static enum tree_status commit_new(const char *root, const char *big)
{
    const tree_file files[] = {
        file_of("MANIFEST", "new\n"),   file_of("a/1.c", "int a1 = 1;\n"),
        file_of("a/2.c", "int a2;\n"),  file_of("a/3 \xc3\xa9.c", "int a3;"),
        file_of("b/c/1.cu", "new b\n"), file_of("dir", "a file now\n"),
        file_of("empty.c", ""),         file_of("flip/f.c", "int f;\n"),
        file_of("new/d/4.c", "int n;"), file_of("stay.c", "int stay;"),
        {"table/big.c", big, BIG},
    };
    const char *const gone[] = {"dir/z.c", "flip", "gone/d/y.c", "gone/x.c",
                                "never/was.c"};
    const tree_change change = {root, files, sizeof files / sizeof files[0],
                                gone, sizeof gone / sizeof gone[0]};
    return tree_commit(&change, NULL);
}

int main(int argc, char **argv)
{
    static char big[BIG];
    enum tree_status status;
    if (argc != 3) {
        fputs("usage: tree_driver ROOT old|new\n", stderr);
        return 2;
    }
    memset(big, 'x', sizeof big);
    if (strcmp(argv[2], "old") == 0) {
        status = commit_old(argv[1], big);
    } else {
        status = commit_new(argv[1], big);
    }
    return status == TREE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
