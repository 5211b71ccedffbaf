/* refuse.c: preloaded into a program, refuses one of its allocations, those of
 * libc and of other libraries too, or all from one on:
 *
 *   REFUSE=N        the N-th; with REFUSE_REST=1 all after it too
 *   REFUSE_COUNT=F  writes how many there were to file F at the end
 *
 * Needs glibc, whose own functions stand behind.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static atomic_long count;
static long first; /* 0: none */
static int rest;

static long number(const char *text)
{
    return text != NULL ? strtol(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void start(void)
{
    first = number(getenv("REFUSE"));
    rest = number(getenv("REFUSE_REST")) != 0;
    atomic_store(&count, 0);
}

__attribute__((destructor)) static void end(void)
{
    const long n = atomic_load(&count);
    const char *path = getenv("REFUSE_COUNT");
    FILE *file;

    first = 0;
    if (path != NULL && (file = fopen(path, "w")) != NULL) {
        fprintf(file, "%ld\n", n);
        fclose(file);
    }
}

static int refused(void)
{
    const long n = atomic_fetch_add(&count, 1) + 1;

    if (first > 0 && (n == first || (rest && n > first))) {
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

void *malloc(size_t bytes)
{
    return refused() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return refused() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return refused() ? NULL : __libc_realloc(old, bytes);
}
