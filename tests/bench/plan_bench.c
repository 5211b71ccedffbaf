/* plan_bench.c: nanoseconds that a plan and a look-up take, the best of 20
 * rounds, on the tables of tests/unit/core_tables.c. Judges nothing. By hand,
 * from the top folder:
 *
 *   cc -std=c11 -O2 -Iruntime -Itests/unit -o build/plan_bench \
 *       tests/bench/plan_bench.c tests/unit/core_tables.c \
 *       tests/unit/core_call.c $(find runtime/core -name '*.c') \
 *       -lcmocka -lm
 *   build/plan_bench
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core_call.h"

#define ROUNDS 20
#define PLANS 1000
#define LOOKUPS 10000

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static kiln_program *plan(const core_call *c)
{
    kiln_program *program;
    kiln_error err;

    if (kiln_program_create(&program, &c->request, &err) != KILN_OK) {
        fprintf(stderr, "plan_bench: %s\n", err.text);
        exit(1);
    }
    return program;
}

static void print_plan(const char *what, const core_call *c)
{
    double best = 1e30;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now(), ns;

        for (int i = 0; i < PLANS; i++) {
            kiln_program_destroy(plan(c));
        }
        ns = (now() - start) / PLANS;
        best = ns < best ? ns : best;
    }
    printf("%s: %.0f ns a plan\n", what, best);
}

static void print_lookup(const char *what, const core_call *c, int op)
{
    const kiln_op_keys *keys = c->request.tier->ops[op];
    kiln_program *program = plan(c);
    const kiln_key *key = program->nodes[0].key;
    double best = 1e30;
    long found = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now(), ns;

        for (int i = 0; i < LOOKUPS; i++) {
            kiln_found out;

            found += kiln_find_cell(c->request.tables, keys, key, &out);
        }
        ns = (now() - start) / LOOKUPS;
        best = ns < best ? ns : best;
    }
    if (found != (long)ROUNDS * LOOKUPS) {
        fprintf(stderr, "plan_bench: %s: its key is not certified\n", what);
        exit(1);
    }
    printf("%s, %d groups: %.0f ns a look-up\n", what, keys->n_groups, best);
    kiln_program_destroy(program);
}

static void begin(core_call *c, const char *op, int tensors, int64_t m,
                  int64_t n)
{
    core_begin(c, op);
    for (int t = 0; t < tensors; t++) {
        core_tensor(c, KILN_F32, DIMS(m, n));
    }
    c->request.tier = core_tier();
}

int main(void)
{
    core_call c;

    begin(&c, "add", 3, 32, 64);
    core_float(&c, "alpha", 2);
    print_lookup("add", &c, OP_ADD);
    print_plan("add, contiguous", &c);
    for (int t = 0; t < 3; t++) {
        c.tensor[t].data = (void *)((uintptr_t)(t + 1) << 16);
    }
    print_plan("add, contiguous, with pointers", &c);
    begin(&c, "quad", 4, 32, 64);
    print_plan("quad, contiguous, few arguments", &c);
    begin(&c, "softmax", 2, 30, 60);
    print_plan("softmax", &c);
    begin(&c, "part", 2, 6, 4);
    print_plan("part, 8 launches", &c);
    return 0;
}
