/* json.h: flat JSON objects, one a line: writing, and reading one field. */
#ifndef KILN_TESTS_JSON_H
#define KILN_TESTS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;
    bool more; /* a field was written */
} json;

void json_begin(json *j, FILE *out);
/* text is UTF-8 or ASCII; control bytes are escaped. */
void json_text(json *j, const char *name, const char *text);
void json_int(json *j, const char *name, int64_t value);
/* Numbers that JSON lacks become the nearest it has: 1e300 for infinity. */
void json_real(json *j, const char *name, double value);
/* Ends the object and the line. */
void json_end(json *j);

/* The field's value as text: a string without quotes and escapes, anything
 * else as written. false: line is no flat object, lacks the field, or the
 * value does not fit. */
bool json_find(const char *line, const char *name, char *value, size_t cap);

#endif /* KILN_TESTS_JSON_H */
