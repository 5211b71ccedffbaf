/* error.h: how the core says what went wrong: a status and one text. */
#ifndef KILN_CORE_ERROR_H
#define KILN_CORE_ERROR_H

#include "../kiln.h"

#define KILN_ERROR_TEXT 2048

typedef struct kiln_error {
    kiln_status status;
    char text[KILN_ERROR_TEXT]; /* "op softmax: tensor y: ..." */
} kiln_error;

/* Sets the error, cut to its room, and returns status. */
kiln_status kiln_fail(kiln_error *err, kiln_status status, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* Appends to the text of an error already set. */
void kiln_fail_more(kiln_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* KILN_CORE_ERROR_H */
