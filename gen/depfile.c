#include "depfile.h"

#include <errno.h>
#include <string.h>

#define PATH_ROOM 4096

/* Make's rules (GNU make manual, 4.2 and 4.4): white space, #, :, and wild
 * cards after a backslash, backslashes before them doubled, $ doubled; % only
 * means something in a target. */
static void write_name(const char *name, bool target, FILE *to)
{
    const char *special = target ? " \t#:*?[]%" : " \t#:*?[]";
    size_t slashes = 0;
    if (name[0] == '~') {
        fputs("./", to);
    }
    for (; *name; name++) {
        if (*name == '$') {
            fputc('$', to);
        } else if (strchr(special, *name)) {
            for (size_t i = 0; i <= slashes; i++) {
                fputc('\\', to);
            }
        }
        slashes = *name == '\\' ? slashes + 1 : 0;
        fputc(*name, to);
    }
    for (; slashes > 0; slashes--) { /* before the blank or : behind it */
        fputc('\\', to);
    }
}

static void write_rules(const char *target, const char *const *inputs, size_t n,
                        FILE *to)
{
    write_name(target, true, to);
    fputc(':', to);
    for (size_t i = 0; i < n; i++) {
        fputs(" \\\n  ", to);
        write_name(inputs[i], false, to);
    }
    fputc('\n', to);
    for (size_t i = 0; i < n; i++) {
        write_name(inputs[i], true, to);
        fputs(":\n", to);
    }
}

/* Whether make can name it at all. */
static bool has_newline(const char *target, const char *const *inputs, size_t n)
{
    bool found = strpbrk(target, "\n\r");
    for (size_t i = 0; i < n; i++) {
        found = found || strpbrk(inputs[i], "\n\r");
    }
    return found;
}

bool depfile_write(const char *path, const char *target,
                   const char *const *inputs, size_t n, diag *sink)
{
    char part[PATH_ROOM];
    if (strlen(path) + sizeof ".new" > sizeof part) {
        diag_add(sink, path, 0, 0, "the path is too long");
        return false;
    }
    if (has_newline(target, inputs, n)) {
        diag_add(sink, path, 0, 0,
                 "make cannot name a file with a line "
                 "break in its path");
        return false;
    }
    snprintf(part, sizeof part, "%s.new", path);
    FILE *to = fopen(part, "w");
    bool good = to;
    if (to) {
        write_rules(target, inputs, n, to);
        good = fflush(to) == 0 && !ferror(to);
        good = fclose(to) == 0 && good && rename(part, path) == 0;
    }
    if (!good) {
        diag_add(sink, path, 0, 0, "cannot be written: %s", strerror(errno));
        if (to) {
            remove(part);
        }
    }
    return good;
}
