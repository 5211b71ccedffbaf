/* embed.c: the build's own tool that turns files into a C table.
 *
 *     embed OUT.c ROOT PATH|NAME=PATH...
 *
 * Writes embed_files (see embed.h). A PATH below ROOT is named relative to
 * it; NAME=PATH is named NAME. The order of the arguments does not matter.
 * Exit codes: 0 done, 2 wrong usage, 4 I/O.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct source {
    const char *name;
    const char *path;
    size_t size;
} source;

/* `arg`'s name and path. false: the path is not below root. */
static bool split(source *s, char *arg, const char *root)
{
    char *equals = strchr(arg, '=');
    if (equals) {
        *equals = '\0';
        s->name = arg;
        s->path = equals + 1;
        return s->name[0] && s->path[0];
    }
    s->path = arg;
    s->name = arg;
    const size_t n = strlen(root);
    if (strcmp(root, ".") != 0) {
        if (strncmp(arg, root, n) != 0 || arg[n] != '/') {
            return false;
        }
        s->name = arg + n + 1;
    }
    return s->name[0];
}

static int by_name(const void *left, const void *right)
{
    const source *a = left;
    const source *b = right;
    return strcmp(a->name, b->name);
}

/* Names are written between quotes. */
static bool is_plain(const char *name)
{
    return name[strcspn(name, "\"\\\n\r?")] == '\0';
}

static bool check(const source *sources, int n)
{
    for (int i = 0; i < n; i++) {
        if (!is_plain(sources[i].name)) {
            fprintf(stderr, "embed: bad name %s\n", sources[i].name);
            return false;
        }
        if (i > 0 && strcmp(sources[i - 1].name, sources[i].name) == 0) {
            fprintf(stderr, "embed: %s named twice\n", sources[i].name);
            return false;
        }
    }
    return true;
}

/* A trailing 0, not counted, so that no array is empty. */
static bool write_bytes(FILE *out, source *s, int index)
{
    FILE *in = fopen(s->path, "rb");
    if (!in) {
        fprintf(stderr, "embed: %s: %s\n", s->path, strerror(errno));
        return false;
    }
    fprintf(out, "static const unsigned char file_%d[] = {", index);
    int byte;
    for (s->size = 0; (byte = getc(in)) != EOF; s->size++) {
        fprintf(out, "%s%d,", s->size % 20 == 0 ? "\n    " : "", byte);
    }
    fputs("\n    0};\n", out);
    const bool good = !ferror(in);
    fclose(in);
    if (!good) {
        fprintf(stderr, "embed: cannot read %s\n", s->path);
    }
    return good;
}

static bool write_table(FILE *out, source *sources, int n)
{
    fputs("/* Written by gen/embed.c; do not edit. */\n"
          "#include \"embed.h\"\n\n",
          out);
    for (int i = 0; i < n; i++) {
        if (!write_bytes(out, &sources[i], i)) {
            return false;
        }
    }
    fputs("static const embed_file files[] = {\n", out);
    for (int i = 0; i < n; i++) {
        fprintf(out, "    {\"%s\", file_%d, %zu},\n", sources[i].name, i,
                sources[i].size);
    }
    fprintf(out, "};\nconst embed_table embed_files = {files, %d};\n", n);
    return true;
}

/* Written beside path and renamed, so that make never sees a part of it. */
static int write_file(const char *path, source *sources, int n)
{
    int status = 4;
    const size_t room = strlen(path) + sizeof ".new";
    char *part = malloc(room);
    FILE *out = NULL;
    if (!part) {
        goto done;
    }
    snprintf(part, room, "%s.new", path);
    out = fopen(part, "wb");
    if (out && write_table(out, sources, n)) {
        const bool good = !ferror(out);
        if (fclose(out) == 0 && good && rename(part, path) == 0) {
            status = 0;
        }
        out = NULL;
    }
done:
    if (status != 0) {
        fprintf(stderr, "embed: cannot write %s\n", path);
        if (out) {
            fclose(out);
        }
        if (part) {
            remove(part);
        }
    }
    free(part);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: embed OUT.c ROOT PATH|NAME=PATH...\n", stderr);
        return 2;
    }
    const int n = argc - 3;
    source *sources = calloc((size_t)n, sizeof *sources);
    if (!sources) {
        fputs("embed: out of memory\n", stderr);
        return 4;
    }
    int status = 2;
    for (int i = 0; i < n; i++) {
        if (!split(&sources[i], argv[i + 3], argv[2])) {
            fprintf(stderr, "embed: %s is not below %s\n", argv[i + 3],
                    argv[2]);
            goto done;
        }
    }
    qsort(sources, (size_t)n, sizeof *sources, by_name);
    if (check(sources, n)) {
        status = write_file(argv[1], sources, n);
    }
done:
    free(sources);
    return status;
}
