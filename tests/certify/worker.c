#define _GNU_SOURCE
#include "worker.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WHY (WORKER_NOTE + 128)

/* What a child has in hand. */
typedef struct hand {
    volatile int64_t index; /* the item being done */
    volatile int64_t last;  /* where its part ends */
    char note[WORKER_NOTE];
} hand;

/* What parent and children share. */
typedef struct board {
    atomic_llong next; /* part that nobody has taken */
    atomic_llong done; /* items */
    hand hands[WORKER_MOST];
} board;

/* Bytes of a child, cut into lines. */
typedef struct reader {
    char *text;
    size_t n;
    size_t room;
} reader;

/* A place for a child. */
typedef struct seat {
    pid_t child; /* 0: empty */
    int fd;
    reader reader;
    double heard; /* when it last wrote, in seconds */
    hand *hand;
} seat;

typedef struct team {
    const worker *w;
    const int64_t *edges;
    int64_t n_parts;
    board *board;
    seat seats[WORKER_MOST];
    int n_seats;
    bool stopped;
} team;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Called by parent and children. false: no part is left. */
static bool take_part(const team *t, hand *h)
{
    int64_t part = atomic_fetch_add(&t->board->next, 1);
    if (part >= t->n_parts)
        return false;
    h->last = t->edges[part + 1];
    h->index = t->edges[part];
    return true;
}

/* --- children ------------------------------------------------------------- */

/* Where an item spoils the process the rest of the part stays in hand. */
static void do_part(const team *t, hand *h, FILE *out)
{
    const worker *w = t->w;
    while (h->index < h->last) {
        h->note[0] = '\0';
        bool whole = w->item(w->user, h->index, out, h->note);
        if (fflush(out) != 0)
            _exit(1);
        atomic_fetch_add(&t->board->done, 1);
        h->index = h->index + 1;
        if (!whole)
            _exit(0);
    }
}

static _Noreturn void child_run(const team *t, hand *h, int fd)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL); /* whoever handles them in the parent */
    FILE *out = fdopen(fd, "w");
    if (!out)
        _exit(1);
    do
        do_part(t, h, out);
    while (!t->w->fresh && take_part(t, h));
    _exit(0);
}

/* false: the system refuses a child. */
static bool start(team *t, seat *s)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        child_run(t, s->hand, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    s->child = child;
    s->fd = ends[0];
    s->heard = now_s();
    return true;
}

/* --- the parent ----------------------------------------------------------- */

/* A child for what is in hand or left; none where nothing is. */
static void give_work(team *t, seat *s)
{
    if (t->stopped ||
        (s->hand->index >= s->hand->last && !take_part(t, s->hand)))
        return;
    t->stopped = !start(t, s);
}

/* Hands over the whole lines read so far. */
static void give_lines(team *t, reader *r)
{
    char *start = r->text;
    char *end;
    while ((end = memchr(start, '\n', r->n - (size_t)(start - r->text)))) {
        char kept = end[1];
        end[1] = '\0';
        if (!t->stopped)
            t->stopped = !t->w->line(t->w->user, start);
        end[1] = kept;
        start = end + 1;
    }
    r->n -= (size_t)(start - r->text);
    memmove(r->text, start, r->n);
}

/* false: the child's end. */
static bool read_some(team *t, seat *s)
{
    reader *r = &s->reader;
    if (r->n + 2 >= r->room) {
        char *more = realloc(r->text, 2 * r->room + 4096);
        if (!more) {
            t->stopped = true;
            return true;
        }
        r->text = more;
        r->room = 2 * r->room + 4096;
    }
    ssize_t got = read(s->fd, r->text + r->n, r->room - r->n - 2);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    s->heard = now_s();
    r->n += (size_t)got;
    give_lines(t, r);
    return true;
}

static void say_end(const hand *h, int status, bool hung, int timeout_s,
                    char *why)
{
    const char *in = h->note[0] ? h->note : "start";
    if (hung)
        snprintf(why, WHY, "no answer in %d s, in %s", timeout_s, in);
    else if (WIFSIGNALED(status))
        snprintf(why, WHY, "signal %d (%s), in %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), in);
    else
        snprintf(why, WHY, "exit status %d, in %s", WEXITSTATUS(status), in);
}

/* The child is at its end, or is to be. */
static void end_child(team *t, seat *s, bool hung)
{
    char why[WHY];
    hand *h = s->hand;
    int status = 0;
    if (hung)
        kill(s->child, SIGKILL);
    while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
        ;
    close(s->fd);
    s->child = 0;
    s->reader.n = 0; /* half a line goes */
    if ((!hung && status == 0) || h->index >= h->last || t->stopped)
        return;
    h->note[WORKER_NOTE - 1] = '\0';
    say_end(h, status, hung, t->w->timeout_s, why);
    t->stopped = !t->w->lost(t->w->user, h->index, why);
    h->index = h->index + 1;
    atomic_fetch_add(&t->board->done, 1);
}

/* Waits for what comes first: bytes, an end, or a child's time being up. */
static void wait_some(team *t)
{
    struct pollfd polls[WORKER_MOST];
    double first = now_s();
    for (int i = 0; i < t->n_seats; i++) {
        seat *s = &t->seats[i];
        polls[i] = (struct pollfd){.fd = s->child ? s->fd : -1};
        polls[i].events = POLLIN;
        first = s->child && s->heard < first ? s->heard : first;
    }
    double left = first + t->w->timeout_s - now_s();
    int ms = left > 0 ? (int)(left * 1000) + 1 : 0;
    if (poll(polls, (nfds_t)t->n_seats, ms) < 0)
        return;
    for (int i = 0; i < t->n_seats; i++) {
        seat *s = &t->seats[i];
        if (!s->child)
            continue;
        bool hung =
            polls[i].revents == 0 && now_s() - s->heard >= t->w->timeout_s;
        if (!hung && (polls[i].revents == 0 || read_some(t, s)))
            continue;
        end_child(t, s, hung);
        give_work(t, s);
    }
    if (t->w->tick)
        t->w->tick(t->w->user, atomic_load(&t->board->done));
}

static bool is_working(const team *t)
{
    for (int i = 0; i < t->n_seats; i++)
        if (t->seats[i].child)
            return !t->stopped;
    return false;
}

static void clear(team *t)
{
    for (int i = 0; i < t->n_seats; i++) {
        seat *s = &t->seats[i];
        if (s->child)
            end_child(t, s, true);
        free(s->reader.text);
    }
}

bool worker_run(const worker *w, const int64_t *edges, int64_t n)
{
    assert(w->item && w->line && w->lost && w->jobs <= WORKER_MOST);
    team t = {.w = w, .edges = edges, .n_parts = n};
    t.board = mmap(NULL, sizeof *t.board, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.board == MAP_FAILED)
        return false;
    t.n_seats = w->jobs > 1 ? w->jobs : 1;
    for (int i = 0; i < t.n_seats; i++) {
        t.seats[i].hand = &t.board->hands[i];
        give_work(&t, &t.seats[i]);
    }
    while (is_working(&t))
        wait_some(&t);
    clear(&t);
    munmap(t.board, sizeof *t.board);
    return !t.stopped;
}
