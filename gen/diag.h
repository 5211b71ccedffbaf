/* diag.h: the one place where what is wrong with the user's input is kept
 * until it is shown, each as `path:line:col: message`.
 *
 * A message says what is wrong, then what is allowed or nearest, then the
 * cure. It holds no newline and no program name.
 */
#ifndef KILN_GEN_DIAG_H
#define KILN_GEN_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Messages of one file that diag_write shows. */
#define DIAG_SHOWN 20

typedef struct diag diag;

/* As realloc, told the old size too; n == 0 frees and returns NULL. */
typedef void *diag_alloc_fn(void *user, void *old, size_t old_n, size_t n);

/* NULL when alloc refuses. */
diag *diag_create(diag_alloc_fn *alloc, void *user);
/* NULL is allowed. */
void diag_destroy(diag *sink);

/* Checks a printf-like function's calls. */
#if defined(__GNUC__)
#define DIAG_FORMAT(at, args) __attribute__((format(printf, at, args)))
#else
#define DIAG_FORMAT(at, args)
#endif

/* Adds a message about path; line and col count from 1, a col of 0 is not
 * shown, a line of 0 shows neither. path NULL or "": no file is to blame.
 * Everything is copied. Never fails: without memory the message is counted
 * and diag_lost tells. */
DIAG_FORMAT(5, 6)
void diag_add(diag *sink, const char *path, int line, int col,
              const char *format, ...);
DIAG_FORMAT(5, 0)
void diag_vadd(diag *sink, const char *path, int line, int col,
               const char *format, va_list args);

/* Messages added so far, lost ones included. */
size_t diag_count(const diag *sink);
/* Messages lost for want of memory. */
size_t diag_lost(const diag *sink);

/* Writes what was added, sorted by path, then position, then arrival, and
 * empties the sink. Of one path DIAG_SHOWN lines, then `path: and N more`;
 * what is said again at the same place is shown once.
 * Control characters are shown escaped. false: `to` refused the text. */
bool diag_write(diag *sink, FILE *to);

#endif /* KILN_GEN_DIAG_H */
