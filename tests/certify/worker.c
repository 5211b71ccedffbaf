#define _GNU_SOURCE
#include "worker.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What parent and child share. */
typedef struct shared {
    volatile int64_t index;
    char note[WORKER_NOTE];
} shared;

/* Bytes of the child, cut into lines. */
typedef struct reader {
    char *text;
    size_t n;
    size_t room;
} reader;

static _Noreturn void child_run(const worker *w, int64_t first, int64_t last,
                                shared *s, int fd)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL); /* whoever handles them in the parent */
    FILE *out = fdopen(fd, "w");
    for (int64_t i = first; out && i < last; i++) {
        s->index = i;
        s->note[0] = '\0';
        w->item(w->user, i, out, s->note);
        if (fflush(out) != 0)
            _exit(1);
    }
    s->index = last;
    _exit(out ? 0 : 1);
}

/* Hands over the whole lines read so far. */
static void give_lines(reader *r, const worker *w)
{
    char *start = r->text;
    char *end;
    while ((end = memchr(start, '\n', r->n - (size_t)(start - r->text)))) {
        char kept = end[1];
        end[1] = '\0';
        w->line(w->user, start);
        end[1] = kept;
        start = end + 1;
    }
    r->n -= (size_t)(start - r->text);
    memmove(r->text, start, r->n);
}

/* 1: more may follow; 0: the end; -1: no memory, or nothing came in time. */
static int read_some(reader *r, const worker *w, int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = poll(&wait, 1, w->timeout_s * 1000);
    if (ready < 0)
        return errno == EINTR ? 1 : -1;
    if (ready == 0)
        return -1;
    if (r->n + 2 >= r->room) {
        char *more = realloc(r->text, r->room = 2 * r->room + 4096);
        if (!more)
            return -1;
        r->text = more;
    }
    ssize_t got = read(fd, r->text + r->n, r->room - r->n - 2);
    if (got <= 0)
        return got < 0 && errno == EINTR ? 1 : 0;
    r->n += (size_t)got;
    give_lines(r, w);
    return 1;
}

static void say_end(const shared *s, int status, bool hung, int timeout_s,
                    char *why, size_t cap)
{
    const char *in = s->note[0] ? s->note : "start";
    if (hung)
        snprintf(why, cap, "no answer in %d s, in %s", timeout_s, in);
    else if (WIFSIGNALED(status))
        snprintf(why, cap, "signal %d (%s), in %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), in);
    else
        snprintf(why, cap, "exit status %d, in %s", WEXITSTATUS(status), in);
}

static int64_t parent_run(const worker *w, pid_t child, shared *s, int fd,
                          int64_t last, char *why, size_t cap)
{
    reader r = {0};
    int more, status = 0;
    while ((more = read_some(&r, w, fd)) > 0)
        if (w->tick)
            w->tick(w->user, s->index);
    free(r.text);
    if (more < 0)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (more == 0 && status == 0)
        return last;
    s->note[WORKER_NOTE - 1] = '\0';
    say_end(s, status, more < 0, w->timeout_s, why, cap);
    return s->index < last ? s->index : last;
}

int64_t worker_run(const worker *w, int64_t first, int64_t last, char *why,
                   size_t cap)
{
    assert(w->item && w->line && first < last);
    int ends[2];
    int64_t reached = -1;
    snprintf(why, cap, "no child process");
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return -1;
    s->index = first;
    if (pipe(ends) == 0) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            child_run(w, first, last, s, ends[1]);
        }
        close(ends[1]);
        if (child > 0)
            reached = parent_run(w, child, s, ends[0], last, why, cap);
        close(ends[0]);
    }
    munmap(s, sizeof *s);
    return reached;
}
