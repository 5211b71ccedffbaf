/* copies.c: two copies of the library in one process, under ThreadSanitizer:
 *
 *   copies ONE.so TWO.so
 *
 * Each is the runtime with the tables of tests/unit/fixture_tables.c. 32
 * threads wait at a barrier, then make their first calls: each on one copy, on
 * one of its two contexts, with a plan of its own and one that all share; and
 * an error in one copy leaves the other's text alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kiln.h"

#define USERS 32
#define LENGTH 5000 /* more than one thread's work */
#define ROUNDS 10

typedef struct copy {
    void *library;
    kiln_context *contexts[2];
    kiln_plan *plan; /* scale, of LENGTH; data is given */
    void (*init)(void);
    const char *(*last_error)(void);
    kiln_status (*context_create)(kiln_context **, DLDevice,
                                  const kiln_options *);
    void (*context_destroy)(kiln_context *);
    kiln_status (*plan_create)(kiln_plan **, kiln_context *, const char *,
                               const DLTensor *const *, int, const kiln_attr *,
                               int);
    void (*plan_destroy)(kiln_plan *);
    kiln_status (*plan_prepare)(kiln_plan *, void *);
    kiln_status (*plan_enqueue)(const kiln_plan *, void *const *, void *,
                                void *);
    kiln_status (*run)(kiln_context *, const char *, const DLTensor *const *,
                       int, const kiln_attr *, int, void *);
} copy;

typedef struct user {
    const copy *own;
    const copy *other;
    kiln_context *ctx;
    pthread_barrier_t *start;
    bool good;
    float x[LENGTH];
    float y[LENGTH];
} user;

static user users[USERS];

/* --- opening -------------------------------------------------------------- */

/* ISO C has no cast from dlsym's pointer to a function's. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool open_library(copy *c, const char *path)
{
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return c->library != NULL &&
           find(c->library, "fixture_tables_init", &c->init) &&
           find(c->library, "kiln_last_error", &c->last_error) &&
           find(c->library, "kiln_context_create", &c->context_create) &&
           find(c->library, "kiln_context_destroy", &c->context_destroy) &&
           find(c->library, "kiln_plan_create", &c->plan_create) &&
           find(c->library, "kiln_plan_destroy", &c->plan_destroy) &&
           find(c->library, "kiln_plan_prepare", &c->plan_prepare) &&
           find(c->library, "kiln_plan_enqueue", &c->plan_enqueue) &&
           find(c->library, "kiln_run", &c->run);
}

static DLTensor vector(float *data, int64_t *size)
{
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = 1,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = size};
}

/* Two contexts, and a plan that is prepared by whoever comes first. */
static bool open_copy(copy *c)
{
    int64_t n = LENGTH;
    DLTensor x = vector(NULL, &n), y = vector(NULL, &n);
    const DLTensor *tensors[] = {&x, &y, NULL};
    kiln_options options = {.size = sizeof options, .threads = 3};

    for (int i = 0; i < 2; i++) {
        if (c->context_create(&c->contexts[i], (DLDevice){kDLCPU, 0},
                              &options) != KILN_OK) {
            return false;
        }
    }
    return c->plan_create(&c->plan, c->contexts[0], "scale", tensors, 3, NULL,
                          0) == KILN_OK;
}

static void close_copy(copy *c)
{
    c->plan_destroy(c->plan);
    c->context_destroy(c->contexts[0]);
    c->context_destroy(c->contexts[1]);
}

/* --- using ---------------------------------------------------------------- */

static bool is_scaled(const user *u, float by)
{
    for (int i = 0; i < LENGTH; i++) {
        if (u->y[i] != by * u->x[i]) {
            return false;
        }
    }
    return true;
}

static bool use_own_plan(user *u)
{
    int64_t n = LENGTH;
    DLTensor x = vector(u->x, &n), y = vector(u->y, &n);
    const DLTensor *tensors[] = {&x, &y};

    return u->own->run(u->ctx, "twice", tensors, 2, NULL, 0, NULL) == KILN_OK &&
           is_scaled(u, 4);
}

static bool use_shared_plan(user *u)
{
    void *data[] = {u->x, u->y, NULL};

    memset(u->y, 0xff, sizeof u->y);
    return u->own->plan_prepare(u->own->plan, NULL) == KILN_OK &&
           u->own->plan_enqueue(u->own->plan, data, NULL, NULL) == KILN_OK &&
           is_scaled(u, 2);
}

static bool fail_apart(const user *u)
{
    return u->own->run(u->ctx, "none_such", NULL, 0, NULL, 0, NULL) !=
               KILN_OK &&
           strstr(u->own->last_error(), "none_such") != NULL &&
           strcmp(u->other->last_error(), "") == 0;
}

static void *use(void *arg)
{
    user *u = arg;

    for (int i = 0; i < LENGTH; i++) {
        u->x[i] = (float)i;
    }
    pthread_barrier_wait(u->start);
    u->good = use_own_plan(u) && fail_apart(u);
    for (int i = 0; i < 5; i++) {
        u->good = u->good && use_shared_plan(u);
    }
    return NULL;
}

static bool one_round(copy *copies)
{
    pthread_t threads[USERS];
    pthread_barrier_t start;
    bool good = open_copy(&copies[0]) && open_copy(&copies[1]);

    if (!good) {
        return false;
    }
    pthread_barrier_init(&start, NULL, USERS);
    for (int i = 0; i < USERS; i++) {
        users[i].own = &copies[i % 2];
        users[i].other = &copies[1 - i % 2];
        users[i].ctx = copies[i % 2].contexts[i / 2 % 2];
        users[i].start = &start;
        if (pthread_create(&threads[i], NULL, use, &users[i]) != 0) {
            perror("pthread_create");
            return false; /* those at the barrier end with the process */
        }
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        good = good && users[i].good;
    }
    pthread_barrier_destroy(&start);
    close_copy(&copies[0]);
    close_copy(&copies[1]);
    return good;
}

int main(int argc, char **argv)
{
    copy copies[2] = {{0}};
    bool good = true;

    for (int i = 0; i < 2; i++) {
        if (argc != 3 || !open_library(&copies[i], argv[1 + i])) {
            fprintf(stderr, "usage: copies ONE.so TWO.so: %s\n", dlerror());
            return 2;
        }
        copies[i].init();
    }
    for (int i = 0; i < ROUNDS; i++) {
        good = one_round(copies) && good;
    }
    return good ? 0 : 1;
}
