#include "text.h"

#include <stdint.h>

/* A place in a text: the next byte, its line and column. */
typedef struct place {
    const unsigned char *text;
    size_t n, at;
    size_t line, col;
} place;

static place begin(const char *text, size_t n)
{
    return (place){
        .text = (const unsigned char *)text, .n = n, .line = 1, .col = 1};
}

/* Bytes of the character that `lead` begins and its own bits; 0: none does. */
static size_t lead_bits(unsigned char lead, uint32_t *bits)
{
    if (lead < 0x80) {
        *bits = lead;
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        *bits = lead & 0x1Fu;
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        *bits = lead & 0x0Fu;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        *bits = lead & 0x07u;
        return 4;
    }
    return 0;
}

/* The character at p; its length, or 0 where it is not UTF-8 (RFC 3629). */
static size_t decode(const place *p, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c;
    const size_t size = lead_bits(p->text[p->at], &c);
    if (size == 0 || size > p->n - p->at) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        const unsigned char byte = p->text[p->at + i];
        if ((byte & 0xC0) != 0x80) {
            return 0;
        }
        c = c << 6 | (byte & 0x3Fu);
    }
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    if (c < least[size] || c > 0x10FFFF || surrogate) {
        return 0;
    }
    *character = c;
    return size;
}

/* Goes past `size` bytes that are one character. */
static void advance(place *p, size_t size)
{
    const unsigned char byte = p->text[p->at];
    const bool pair =
        byte == '\r' && p->at + 1 < p->n && p->text[p->at + 1] == '\n';
    p->at += size;
    if (byte == '\n' || (byte == '\r' && !pair)) {
        p->line++;
        p->col = 1;
    } else {
        p->col++;
    }
}

/* Why a character is refused, or NULL (YAML 1.2, production c-printable; the
 * breaks of YAML 1.1 alone besides). */
static const char *fault(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0x7F)) {
        return NULL;
    }
    if (c == 0x85 || c == 0x2028 || c == 0x2029) {
        return "a line break to YAML 1.1 but not to 1.2; write \\n";
    }
    if (c == 0xFEFF) {
        return "a byte-order mark inside the text; remove it";
    }
    if (c < 0xA0 || c == 0xFFFE || c == 0xFFFF) {
        return "a control character; escape it in a double-quoted text";
    }
    return NULL;
}

static bool is_utf16(const place *p)
{
    const unsigned char *t = p->text;
    if (p->n < 2) {
        return false;
    }
    return (t[0] == 0xFF && t[1] == 0xFE) || (t[0] == 0xFE && t[1] == 0xFF) ||
           (t[0] == 0) != (t[1] == 0);
}

bool text_check(const char *text, size_t n, const char *path, diag *sink)
{
    place p = begin(text, n);
    if (is_utf16(&p)) {
        diag_add(sink, path, 1, 1, "UTF-16 text; save the file as UTF-8");
        return false;
    }
    while (p.at < p.n) {
        uint32_t c = 0;
        const size_t size = decode(&p, &c);
        if (size == 0) {
            diag_add(sink, path, (int)p.line, (int)p.col,
                     "invalid UTF-8: byte 0x%02x", p.text[p.at]);
            return false;
        }
        if (fault(c)) {
            diag_add(sink, path, (int)p.line, (int)p.col, "U+%04X is %s",
                     (unsigned)c, fault(c));
            return false;
        }
        advance(&p, size);
    }
    return true;
}

/* Goes to where the line begins; false: there is no such line. */
static bool find_line(place *p, size_t line)
{
    while (p->at < p->n && p->line < line) {
        advance(p, 1);
    }
    return p->line == line;
}

char text_at(const char *text, size_t n, size_t line, size_t col)
{
    place p = begin(text, n);
    if (!find_line(&p, line)) {
        return 0;
    }
    while (p.at < p.n && p.line == line && p.col < col) {
        uint32_t c;
        const size_t size = decode(&p, &c);
        advance(&p, size ? size : 1);
    }
    return p.at < p.n && p.line == line ? (char)p.text[p.at] : '\0';
}

bool text_tab_indents(const char *text, size_t n, size_t line)
{
    place p = begin(text, n);
    find_line(&p, line);
    while (p.at < p.n && p.line == line && p.text[p.at] == ' ') {
        p.at++;
    }
    return p.at < p.n && p.line == line && p.text[p.at] == '\t';
}

int text_clip(const char *text, size_t n, int most)
{
    if (n <= (size_t)most) {
        return (int)n;
    }
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) {
        most--;
    }
    return most;
}
