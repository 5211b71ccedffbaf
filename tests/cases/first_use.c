/* first_use.c: concurrent-first-use: threads that wait at a barrier and then
 * each make their first call in a fresh process; all of one kernel, then each
 * of another.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#define USERS 32
#define LENGTH 20000 /* more than one thread's work */
#define POOL 4
#define SECONDS 60

typedef struct user {
    trial trial;
    kiln_context *ctx;
    pthread_barrier_t *start;
    char *bits; /* what the first process got, shared with all */
    bool good;
} user;

typedef struct stage {
    user users[USERS];
    bool known; /* bits are there */
} stage;

static void open_users(stage *s, bool same)
{
    static const char *const ops[] = {"relu", "silu", "sigmoid", "tanh",
                                      "exp",  "gelu", "add",     "mul"};
    static const char *const dtypes[] = {"f16", "bf16", "f32", "f64"};

    for (int i = 0; i < USERS; i++) {
        const char *op = same ? "relu" : ops[i / 4];
        const char *dtype = same ? "f32" : dtypes[i % 4];
        char text[CALL_TEXT];
        bool two = strcmp(op, "add") == 0 || strcmp(op, "mul") == 0;

        if (two) {
            snprintf(text, sizeof text, "%s a=%s[%d] b=%s[%d] y=%s[%d]", op,
                     dtype, LENGTH, dtype, LENGTH, dtype, LENGTH);
        } else {
            snprintf(text, sizeof text, "%s x=%s[%d] y=%s[%d]", op, dtype,
                     LENGTH, dtype, LENGTH);
        }
        s->users[i].good = trial_open(&s->users[i].trial, text, false);
        if (s->users[i].good) {
            trial_fill(&s->users[i].trial, (uint64_t)i);
            s->users[i].good = trial_truth(&s->users[i].trial);
        }
    }
}

static size_t bytes_of(user *u)
{
    const DLTensor *y = trial_output(&u->trial);

    return (size_t)(truth_numel(y) * truth_size(y->dtype));
}

static void *first_call(void *arg)
{
    user *u = arg;

    pthread_barrier_wait(u->start);
    u->good = u->good && trial_run(&u->trial, u->ctx);
    return NULL;
}

static bool judge_users(stage *s)
{
    bool good = true;

    for (int i = 0; i < USERS && good; i++) {
        user *u = &s->users[i];

        good = u->good;
        if (good && s->known) {
            good = memcmp(u->bits, u->trial.got, bytes_of(u)) == 0 ||
                   trial_fail(&u->trial, "other bits than the first time");
        } else if (good) {
            good = trial_judge(&u->trial);
            memcpy(u->bits, u->trial.got, bytes_of(u));
        }
        if (!good) {
            printf("# thread %d: %s\n", i, u->trial.problem);
        }
    }
    return good;
}

/* One repetition, on a context of its own: 0 when all went well. */
static int use_all(stage *s)
{
    pthread_t threads[USERS];
    pthread_barrier_t start;
    kiln_context *ctx = cases_context(NULL, POOL);
    bool good;

    pthread_barrier_init(&start, NULL, USERS);
    for (int i = 0; i < USERS; i++) {
        s->users[i].ctx = ctx;
        s->users[i].start = &start;
        if (pthread_create(&threads[i], NULL, first_call, &s->users[i]) != 0) {
            return 2;
        }
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
    }
    good = judge_users(s);
    pthread_barrier_destroy(&start);
    kiln_context_destroy(ctx);
    return good ? 0 : 1;
}

static int use_often(stage *s, int repetitions)
{
    int status = 0;

    alarm(SECONDS);
    for (int i = 0; i < repetitions && status == 0; i++) {
        status = use_all(s);
        s->known = true;
    }
    fflush(stdout);
    return status;
}

static int run_child(stage *s, int repetitions)
{
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        _exit(use_often(s, repetitions));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    return status;
}

static void run_stage(tally *all, stage *s, int processes, int repetitions,
                      const char *name)
{
    char why[64];
    int status = 0;

    for (int i = 0; i < processes && status == 0; i++) {
        status = run_child(s, repetitions);
        s->known = true;
        snprintf(why, sizeof why, "process %d: wait status %d", i, status);
    }
    tally_add(all, status == 0, name, why);
}

static bool open_stage(stage *s, bool same)
{
    const size_t room = LENGTH * sizeof(double);
    char *bits = mmap(NULL, USERS * room, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (int i = 0; i < USERS && bits != MAP_FAILED; i++) {
        s->users[i].bits = bits + (size_t)i * room;
    }
    open_users(s, same);
    return bits != MAP_FAILED;
}

void cases_first_use(tally *all, int processes, int repetitions)
{
    static const char *const names[] = {
        "concurrent-first-use: 32 threads, one kernel",
        "concurrent-first-use: 32 threads, 32 kernels"};

    for (int i = 0; i < 2; i++) {
        stage *s = calloc(1, sizeof *s);

        if (!s || !open_stage(s, i == 0)) {
            tally_add(all, false, names[i], "no memory");
            return;
        }
        run_stage(all, s, processes, repetitions, names[i]);
        for (int j = 0; j < USERS; j++) {
            trial_close(&s->users[j].trial);
        }
        munmap(s->users[0].bits, USERS * LENGTH * sizeof(double));
        free(s);
    }
}
