#include "json.h"

#include <math.h>
#include <string.h>

/* --- writing -------------------------------------------------------------- */

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_name(json *j, const char *name)
{
    if (j->more)
        fputc(',', j->out);
    j->more = true;
    put_string(j->out, name);
    fputc(':', j->out);
}

void json_begin(json *j, FILE *out)
{
    *j = (json){out, false};
    fputc('{', out);
}

void json_text(json *j, const char *name, const char *text)
{
    put_name(j, name);
    put_string(j->out, text);
}

void json_int(json *j, const char *name, int64_t value)
{
    put_name(j, name);
    fprintf(j->out, "%lld", (long long)value);
}

void json_real(json *j, const char *name, double value)
{
    put_name(j, name);
    value = isnan(value) ? 1e300 : fmax(-1e300, fmin(1e300, value));
    fprintf(j->out, "%.9g", value);
}

void json_end(json *j)
{
    fputs("}\n", j->out);
}

/* --- reading -------------------------------------------------------------- */

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t");
}

static int hex4(const char *at)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *found = at[i] ? strchr(digits, at[i]) : NULL;
        if (!found)
            return -1;
        value = value * 16 + (int)((found - digits) % 16);
    }
    return value;
}

/* The character that an escape at `at` (past its backslash) stands for, or
 * -1; only what json_text writes beside the two-letter ones. */
static int unescape(const char **at)
{
    const char *letters = "\"\\/bfnrt";
    const char *stand_for = "\"\\/\b\f\n\r\t";
    char c = *(*at)++;
    if (c == 'u') {
        int code = hex4(*at);
        *at += code < 0 ? 0 : 4;
        return code < 0x80 ? code : -1;
    }
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? stand_for[found - letters] : -1;
}

/* Reads a string into value, cut to its room. Returns what follows it, or
 * NULL. */
static const char *read_string(const char *at, char *value, size_t cap,
                               bool *fits)
{
    size_t n = 0;
    if (*at++ != '"')
        return NULL;
    while (*at != '"') {
        int c = (unsigned char)*at++;
        if (c == '\0')
            return NULL;
        if (c == '\\' && (c = unescape(&at)) < 0)
            return NULL;
        if (n + 1 < cap)
            value[n] = (char)c;
        n++;
    }
    *fits = n < cap;
    value[*fits ? n : cap - 1] = '\0';
    return at + 1;
}

/* A string, or the bare text of a number or word. */
static const char *read_value(const char *at, char *value, size_t cap,
                              bool *fits)
{
    if (*at == '"')
        return read_string(at, value, cap, fits);
    size_t n = strcspn(at, ",}{[]\" ");
    if (n == 0)
        return NULL;
    *fits = n < cap;
    snprintf(value, cap, "%.*s", (int)n, at);
    return at + n;
}

bool json_find(const char *line, const char *name, char *value, size_t cap)
{
    const char *at = skip_space(line);
    if (*at++ != '{')
        return false;
    for (;;) {
        char key[64];
        bool key_fits, fits;
        at = read_string(skip_space(at), key, sizeof key, &key_fits);
        if (!at || *(at = skip_space(at)) != ':')
            return false;
        at = read_value(skip_space(at + 1), value, cap, &fits);
        if (!at)
            return false;
        if (key_fits && strcmp(key, name) == 0)
            return fits;
        at = skip_space(at);
        if (*at++ != ',')
            return false;
    }
}
