/* random.c: random calls of the composite op of tests/composite/spec: each is
 * right by a softmax computed here in double; its launches, workspace, bytes
 * and buffers are what its steps say; the workspace lies before a page that
 * nobody may touch, poisoned, and no byte past the declared ones changes.
 *
 *   random CALLS SEED
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kiln.h"

#define PAGE 4096
#define ROOM (INT64_C(1) << 22) /* bytes of each buffer */
#define ALIGN 256
#define POISON 0xFF

enum { X, MASK, Y, WORKSPACE, BUFFERS };

typedef struct call {
    int64_t size[4]; /* B H R N */
    int64_t rows;
    char *at[BUFFERS]; /* each ends at its guard page */
    int64_t bytes[BUFFERS];
} call;

typedef struct bed {
    kiln_context *ctx;
    char *end[BUFFERS]; /* the guard pages */
    uint64_t state;
    char problem[512];
} bed;

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t roll(bed *b)
{
    uint64_t z = b->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int64_t between(bed *b, int64_t low, int64_t high)
{
    return low + (int64_t)(roll(b) % (uint64_t)(high - low + 1));
}

static bool fail(bed *b, const call *c, const char *what, double got,
                 double want)
{
    snprintf(b->problem, sizeof b->problem,
             "[%lld, %lld, %lld, %lld] by %lld: %s: %.9g, not %.9g",
             (long long)c->size[0], (long long)c->size[1],
             (long long)c->size[2], (long long)c->size[3], (long long)c->rows,
             what, got, want);
    return false;
}

static bool same(bed *b, const call *c, const char *what, int64_t got,
                 int64_t want)
{
    return got == want || fail(b, c, what, (double)got, (double)want);
}

/* --- a call --------------------------------------------------------------- */

static void pick(bed *b, call *c)
{
    const int64_t most = between(b, 0, 3) == 0 ? 60000 : 3000;

    do {
        c->size[0] = between(b, 1, 4);
        c->size[1] = between(b, 1, 5);
        c->size[2] = between(b, 1, 90);
        c->size[3] =
            between(b, 0, 9) == 0 ? between(b, 4090, 4100) : between(b, 1, 200);
    } while (c->size[0] * c->size[1] * c->size[2] * c->size[3] > most);
    c->rows = between(b, 0, 4) == 0 ? 64 : between(b, 1, c->size[2] + 3);
}

static void place(bed *b, call *c)
{
    const int64_t *size = c->size;
    const int64_t plane = size[2] * size[3];

    c->bytes[X] = c->bytes[Y] = size[0] * size[1] * plane * 4;
    c->bytes[MASK] = plane * 4;
    for (int i = X; i <= Y; i++) {
        c->at[i] = b->end[i] - c->bytes[i];
    }
    float *x = (float *)(void *)c->at[X], *mask = (float *)(void *)c->at[MASK];
    for (int64_t i = 0; i < c->bytes[X] / 4; i++) {
        x[i] = (float)between(b, -4000, 4000) / 512;
    }
    for (int64_t i = 0; i < plane; i++) {
        mask[i] = i % size[3] != 0 && between(b, 0, 5) == 0
                      ? -INFINITY
                      : (float)between(b, -8, 8) / 8;
    }
    memset(c->at[Y], POISON, (size_t)c->bytes[Y]);
}

static kiln_plan *make_plan(bed *b, call *c)
{
    DLTensor t[3];
    const DLTensor *list[] = {&t[X], &t[MASK], &t[Y]};
    kiln_attr rows = {"rows", KILN_ATTR_INT, {.i = c->rows}};
    kiln_plan *plan = NULL;

    for (int i = X; i <= Y; i++) {
        t[i] = (DLTensor){.data = c->at[i],
                          .device = {kDLCPU, 0},
                          .ndim = i == MASK ? 2 : 4,
                          .dtype = {kDLFloat, 32, 1},
                          .shape = c->size + (i == MASK ? 2 : 0)};
    }
    if (kiln_plan_create(&plan, b->ctx, "masked_softmax", list, 3, &rows, 1) !=
            KILN_OK ||
        kiln_plan_prepare(plan, NULL) != KILN_OK) {
        snprintf(b->problem, sizeof b->problem, "%.500s", kiln_last_error());
        kiln_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

/* --- what it costs -------------------------------------------------------- */

static bool check_buffer(bed *b, const call *c, const kiln_buffer_cost *s,
                         int64_t bytes, int32_t launches)
{
    return same(b, c, "bytes of s", s->bytes, bytes) &&
           same(b, c, "offset of s", s->offset, 0) &&
           same(b, c, "first use of s", s->first_use, 0) &&
           same(b, c, "last use of s", s->last_use, launches - 1);
}

/* An add and a softmax a chunk; s is written and read once an element. */
static bool check_cost(bed *b, const call *c, const kiln_plan *plan)
{
    const int64_t chunks = (c->size[2] + c->rows - 1) / c->rows;
    const int64_t tall = c->rows < c->size[2] ? c->rows : c->size[2];
    const int64_t s = c->size[0] * c->size[1] * tall * c->size[3] * 4;
    const int64_t needed = (int64_t)kiln_plan_workspace(plan);
    kiln_buffer_cost rows[8];
    kiln_cost cost = {.buffer_capacity = 8, .buffers = rows};

    if (kiln_plan_cost(plan, &cost) != KILN_OK) {
        return fail(b, c, "no cost", 0, 0);
    }
    return same(b, c, "launches", cost.launches, 2 * chunks) &&
           same(b, c, "buffers", cost.n_buffers, 4) &&
           same(b, c, "workspace", cost.workspace_bytes, needed) &&
           same(b, c, "bytes read", cost.bytes_read,
                2 * c->bytes[X] + c->bytes[MASK]) &&
           same(b, c, "bytes written", cost.bytes_written, 2 * c->bytes[Y]) &&
           same(b, c, "workspace is s, rounded up",
                (needed + ALIGN - 1) / ALIGN, (s + ALIGN - 1) / ALIGN) &&
           check_buffer(b, c, &rows[3], s, cost.launches) &&
           (needed >= s || fail(b, c, "workspace", (double)needed, (double)s));
}

/* --- what it computes ----------------------------------------------------- */

static bool check_row(bed *b, const call *c, const float *x, const float *mask,
                      const float *y)
{
    const int64_t n = c->size[3];
    double most = -INFINITY, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, (double)x[i] + (double)mask[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        sum += exp((double)x[i] + (double)mask[i] - most);
    }
    for (int64_t i = 0; i < n; i++) {
        double want = exp((double)x[i] + (double)mask[i] - most) / sum;
        if (!(fabs((double)y[i] - want) <= 1e-6 * want + 1e-9)) {
            return fail(b, c, "an element", (double)y[i], want);
        }
    }
    return true;
}

static bool check_values(bed *b, const call *c)
{
    const float *x = (const float *)(const void *)c->at[X];
    const float *mask = (const float *)(const void *)c->at[MASK];
    const float *y = (const float *)(const void *)c->at[Y];
    const int64_t n = c->size[3];

    for (int64_t row = 0; row < c->bytes[X] / 4 / n; row++) {
        if (!check_row(b, c, x + row * n, mask + row % c->size[2] * n,
                       y + row * n)) {
            return false;
        }
    }
    return true;
}

/* The workspace starts aligned; what lies between its end and the guard page
 * must stay as it was. */
static bool run(bed *b, call *c, const kiln_plan *plan)
{
    const int64_t needed = (int64_t)kiln_plan_workspace(plan);
    const int64_t whole = (needed + ALIGN - 1) / ALIGN * ALIGN;

    c->at[WORKSPACE] = b->end[WORKSPACE] - whole;
    memset(c->at[WORKSPACE] - PAGE, POISON, (size_t)(whole + PAGE));
    if (kiln_plan_enqueue(plan, NULL, c->at[WORKSPACE], NULL) != KILN_OK) {
        snprintf(b->problem, sizeof b->problem, "%.500s", kiln_last_error());
        return false;
    }
    for (int64_t i = -PAGE; i < whole; i++) {
        unsigned char byte = (unsigned char)c->at[WORKSPACE][i];
        if ((i < 0 || i >= needed) && byte != POISON) {
            return fail(b, c, "a byte beside the workspace", (double)i, 0);
        }
    }
    return check_values(b, c);
}

static bool one_call(bed *b)
{
    call c;
    bool good;

    pick(b, &c);
    place(b, &c);
    kiln_plan *plan = make_plan(b, &c);
    good = plan && check_cost(b, &c, plan) && run(b, &c, plan);
    kiln_plan_destroy(plan);
    return good;
}

static bool open_bed(bed *b)
{
    kiln_options options = {.size = sizeof options, .threads = 2};

    for (int i = 0; i < BUFFERS; i++) {
        char *map = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED || mprotect(map + ROOM, PAGE, PROT_NONE) != 0) {
            return false;
        }
        b->end[i] = map + ROOM;
    }
    return kiln_context_create(&b->ctx, (DLDevice){kDLCPU, 0}, &options) ==
           KILN_OK;
}

int main(int argc, char **argv)
{
    bed b = {.ctx = NULL};
    const int calls = argc == 3 ? atoi(argv[1]) : 0;
    bool good = open_bed(&b);

    b.state = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    for (int i = 0; i < calls && good; i++) {
        good = one_call(&b);
    }
    printf("%sok random calls of a composite op: workspace, cost and values, "
           "%d calls\n",
           good && calls > 0 ? "" : "not ", calls);
    if (!good) {
        printf("# %s\n", b.problem);
    }
    kiln_context_destroy(b.ctx);
    return !good;
}
