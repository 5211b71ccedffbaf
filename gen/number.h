/* number.h: decimal text and numbers, both ways, in no locale.
 *
 * The forms are those of YAML 1.2's core schema (10.3.2) that YAML 1.1 reads
 * alike: no octal, no hexadecimal, no underscores, no sexagesimal, and no
 * integer with a leading zero.
 */
#ifndef KILN_GEN_NUMBER_H
#define KILN_GEN_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for number_write's text and its NUL. */
#define NUMBER_ROOM 48

/* [-+]?(0|[1-9][0-9]*), exact. false: another form, or outside int64. */
bool number_int(const char *text, size_t n, int64_t *value);

/* The integers above, [-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?, and
 * .inf, .nan in their YAML spellings; correctly rounded. false: another form,
 * a finite text that no double holds (1e999, 1e-999), or over 1000 bytes. */
bool number_float(const char *text, size_t n, double *value);

/* The shortest decimal text that reads back as value, always with a point or
 * an exponent: "1.0", "0.1", "1e-05", "1e+16" (Python's repr writes the
 * same); ".inf", "-.inf" and ".nan", as YAML does. number_float reads it. */
void number_write(double value, char text[NUMBER_ROOM]);

#endif /* KILN_GEN_NUMBER_H */
