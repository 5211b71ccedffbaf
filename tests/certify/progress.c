#define _GNU_SOURCE
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define EVERY_S 5.0
#define EVERY_TERMINAL_S 0.2

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

progress progress_begin(const char *what, int64_t total)
{
    progress p = {.what = what, .total = total};
    p.terminal = isatty(STDERR_FILENO) == 1;
    p.start = p.shown = now_s();
    return p;
}

static void show(progress *p, int64_t done, bool last)
{
    double now = now_s();
    double spent = now - p->start;
    double rate = spent > 0 ? (double)done / spent : 0;
    fprintf(stderr, "%s%s: %lld of %lld, %lld failed, %.1f/s",
            p->terminal ? "\r" : "", p->what, (long long)done,
            (long long)p->total, (long long)p->failed, rate);
    if (last)
        fprintf(stderr, ", %.0f s", spent);
    else if (rate > 0)
        fprintf(stderr, ", %.0f s left", (double)(p->total - done) / rate);
    fputs(p->terminal ? "\033[K" : "\n", stderr);
    if (last && p->terminal)
        fputc('\n', stderr);
    p->shown = now;
}

void progress_tick(progress *p, int64_t done)
{
    if (now_s() - p->shown >= (p->terminal ? EVERY_TERMINAL_S : EVERY_S))
        show(p, done, false);
}

void progress_end(progress *p, int64_t done)
{
    show(p, done, true);
}

void progress_say(progress *p, const char *format, ...)
{
    va_list list;
    if (p->terminal)
        fputs("\r\033[K", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}
