#include "number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 1000

/* Digits of a double's text: 17 tell any two apart. */
#define DIGITS_MAX 17

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A decimal without a point: digits times ten to the exponent. */
typedef struct decimal {
    char text[LONGEST + 16]; /* "-123e-5": strtod reads it in any locale */
    size_t n;
    bool nonzero;
} decimal;

bool number_int(const char *text, size_t n, int64_t *value)
{
    size_t at = 0;
    const bool negative = n > 0 && text[0] == '-';
    if (n > 0 && (text[0] == '-' || text[0] == '+')) {
        at = 1;
    }
    if (at == n || (text[at] == '0' && n - at > 1)) {
        return false;
    }
    const uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t sum = 0;
    for (; at < n; at++) {
        if (!is_digit(text[at])) {
            return false;
        }
        const uint64_t digit = (uint64_t)(text[at] - '0');
        if (sum > (limit - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    if (negative) {
        *value = sum > INT64_MAX ? INT64_MIN : -(int64_t)sum;
    } else {
        *value = (int64_t)sum;
    }
    return true;
}

static bool is_one_of(const char *text, size_t n, const char *const *names)
{
    for (; *names; names++) {
        if (strlen(*names) == n && memcmp(text, *names, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_special(const char *text, size_t n, double *value)
{
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    static const char *const infs[] = {".inf", ".Inf", ".INF", NULL};
    if (is_one_of(text, n, nans)) {
        *value = (double)NAN;
        return true;
    }
    const bool negative = n > 0 && text[0] == '-';
    const size_t sign = n > 0 && (negative || text[0] == '+') ? 1 : 0;
    if (!is_one_of(text + sign, n - sign, infs)) {
        return false;
    }
    *value = negative ? -(double)INFINITY : (double)INFINITY;
    return true;
}

/* Digits from *at on into d; how many there were. */
static size_t take_digits(decimal *d, const char *text, size_t n, size_t *at)
{
    const size_t first = *at;
    for (; *at < n && is_digit(text[*at]); (*at)++) {
        d->text[d->n++] = text[*at];
        d->nonzero = d->nonzero || text[*at] != '0';
    }
    return *at - first;
}

/* [eE][-+]?[0-9]+ up to the text's end, or nothing. Far exponents stop at a
 * bound past which every double is infinite or zero. */
static bool take_exponent(const char *text, size_t n, size_t at, long *exp)
{
    *exp = 0;
    if (at == n) {
        return true;
    }
    if (text[at] != 'e' && text[at] != 'E') {
        return false;
    }
    at++;
    const bool negative = at < n && text[at] == '-';
    if (at < n && (text[at] == '-' || text[at] == '+')) {
        at++;
    }
    if (at == n) {
        return false;
    }
    for (; at < n; at++) {
        if (!is_digit(text[at])) {
            return false;
        }
        if (*exp < 100000) {
            *exp = *exp * 10 + (text[at] - '0');
        }
    }
    *exp = negative ? -*exp : *exp;
    return true;
}

/* The decimal form of text. false: it is none. */
static bool read_decimal(decimal *d, const char *text, size_t n)
{
    size_t at = 0;
    long exp;
    d->n = 0;
    d->nonzero = false;
    if (n > 0 && (text[0] == '-' || text[0] == '+')) {
        d->text[d->n++] = text[at++];
    }
    const bool zero = at < n && text[at] == '0';
    const size_t whole = take_digits(d, text, n, &at);
    const bool point = at < n && text[at] == '.';
    at += point ? 1 : 0;
    const size_t part = point ? take_digits(d, text, n, &at) : 0;
    const bool octal = zero && whole > 1 && !point && at == n;
    if (whole + part == 0 || octal || !take_exponent(text, n, at, &exp)) {
        return false;
    }
    snprintf(d->text + d->n, sizeof d->text - d->n, "e%ld", exp - (long)part);
    return true;
}

bool number_float(const char *text, size_t n, double *value)
{
    decimal d;
    if (n > LONGEST) {
        return false;
    }
    if (read_special(text, n, value)) {
        return true;
    }
    if (!read_decimal(&d, text, n)) {
        return false;
    }
    *value = strtod(d.text, NULL);
    return isfinite(*value) && (*value != 0 || !d.nonzero);
}

/* value's first `count` digits, rounded; *exp: of the first digit. Only the
 * digits are taken from printf, for its point may be a locale's. */
static void round_digits(double value, int count, char digits[DIGITS_MAX + 1],
                         int *exp)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    int n = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++) {
        if (is_digit(*at)) {
            digits[n++] = *at;
        }
    }
    assert(n == count && *at == 'e');
    digits[n] = '\0';
    *exp = (int)strtol(at + 1, NULL, 10);
}

static bool reads_back(const char *digits, int exp, double value)
{
    char text[DIGITS_MAX + 16];
    snprintf(text, sizeof text, "%se%d", digits, exp - (int)strlen(digits) + 1);
    return strtod(text, NULL) == value;
}

/* One unit more in the last place. At a power of two the texts that read
 * back reach further up than down, so the nearest one may miss them. */
static bool next_up(char *digits)
{
    size_t n = strlen(digits);
    while (n > 0 && digits[n - 1] == '9') {
        digits[--n] = '0';
    }
    if (n == 0) {
        return false;
    }
    digits[n - 1]++;
    return true;
}

static void shortest(double value, char digits[DIGITS_MAX + 1], int *exp)
{
    for (int count = 1; count < DIGITS_MAX; count++) {
        round_digits(value, count, digits, exp);
        if (reads_back(digits, *exp, value)) {
            return;
        }
        if (next_up(digits) && reads_back(digits, *exp, value)) {
            return;
        }
    }
    round_digits(value, DIGITS_MAX, digits, exp);
    assert(reads_back(digits, *exp, value));
}

static void write_exponent(const char *digits, int exp, char *text)
{
    const char *sign = exp < 0 ? "-" : "+";
    const int size = exp < 0 ? -exp : exp;
    if (digits[1]) {
        sprintf(text, "%c.%se%s%02d", digits[0], digits + 1, sign, size);
    } else {
        sprintf(text, "%ce%s%02d", digits[0], sign, size);
    }
}

/* exp from -4 to 15. */
static void write_fixed(const char *digits, int exp, char *text)
{
    const int n = (int)strlen(digits);
    if (exp < 0) {
        sprintf(text, "0.%.*s%s", -exp - 1, "000", digits);
    } else if (n > exp + 1) {
        sprintf(text, "%.*s.%s", exp + 1, digits, digits + exp + 1);
    } else {
        sprintf(text, "%s%.*s.0", digits, exp + 1 - n, "000000000000000");
    }
}

void number_write(double value, char text[NUMBER_ROOM])
{
    char digits[DIGITS_MAX + 1];
    int exp;
    if (isnan(value)) {
        strcpy(text, ".nan");
        return;
    }
    if (signbit(value)) {
        *text++ = '-';
        value = -value;
    }
    if (isinf(value)) {
        strcpy(text, ".inf");
        return;
    }
    shortest(value, digits, &exp);
    if (exp < -4 || exp > 15) {
        write_exponent(digits, exp, text);
    } else {
        write_fixed(digits, exp, text);
    }
}
