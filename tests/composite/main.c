/* main.c: runs the composite op of tests/composite/spec through the public
 * API: right results, the launches and cost that its steps promise, and a
 * workspace that is touched to its last declared byte and not beyond.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kiln.h"

enum { B = 2, H = 3, R = 50, N = 77, ROWS = 32 };
enum { NUMEL = B * H * R * N };

static int passed, failed;

static void check(bool holds, const char *what)
{
    printf("%sok %s\n", holds ? "" : "not ", what);
    *(holds ? &passed : &failed) += 1;
}

static DLTensor tensor(float *data, int64_t *shape, int ndim)
{
    DLTensor t = {.data = data,
                  .device = {kDLCPU, 0},
                  .ndim = ndim,
                  .dtype = {kDLFloat, 32, 1},
                  .shape = shape};

    return t;
}

/* `bytes` bytes that end at an unmapped page. */
static unsigned char *guarded(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (bytes + page - 1) / page * page;
    unsigned char *memory = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED ||
        mprotect(memory + whole, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(1);
    }
    return memory + (whole - bytes);
}

static void fill(float *x, float *mask)
{
    for (int i = 0; i < NUMEL; i++) {
        x[i] = (float)((i * 37 + 11) % 101) / 16.0f - 3.0f;
    }
    for (int i = 0; i < R * N; i++) {
        mask[i] = i % 7 == 3 ? -INFINITY : (float)(i % 5) / 4.0f;
    }
}

/* Largest difference from softmax(x + mask) computed in double here. */
static double worst(const float *x, const float *mask, const float *y)
{
    double most = 0;

    for (int row = 0; row < B * H * R; row++) {
        const float *m = mask + row % R * N;
        const float *in = x + row * N;
        double sum = 0;

        for (int i = 0; i < N; i++) {
            sum += exp((double)in[i] + (double)m[i]);
        }
        for (int i = 0; i < N; i++) {
            double want = exp((double)in[i] + (double)m[i]) / sum;
            double error = fabs((double)y[row * N + i] - want);

            most = error > most || error != error ? error : most;
        }
    }
    return most;
}

static kiln_plan *make_plan(kiln_context *ctx, float *x, float *mask, float *y)
{
    static int64_t shape[] = {B, H, R, N};
    DLTensor t[] = {tensor(x, shape, 4), tensor(mask, shape + 2, 2),
                    tensor(y, shape, 4)};
    const DLTensor *tensors[] = {&t[0], &t[1], &t[2]};
    kiln_attr rows = {"rows", KILN_ATTR_INT, {.i = ROWS}};
    kiln_plan *plan = NULL;

    if (kiln_plan_create(&plan, ctx, "masked_softmax", tensors, 3, &rows, 1) !=
            KILN_OK ||
        kiln_plan_prepare(plan, NULL) != KILN_OK) {
        printf("not ok plan: %s\n", kiln_last_error());
        exit(1);
    }
    return plan;
}

static void check_cost(const kiln_plan *plan)
{
    /* 50 rows in chunks of 32: 32 and 18; an add and a softmax each. */
    enum { LAUNCHES = 4, S_BYTES = B * H * ROWS * N * 4 };
    const int64_t moved = 4 * (2 * NUMEL + R * N);
    kiln_buffer_cost buffers[8];
    kiln_cost cost = {.buffer_capacity = 8, .buffers = buffers};

    check(kiln_plan_cost(plan, &cost) == KILN_OK, "cost");
    check(cost.launches == LAUNCHES, "launches: two a chunk");
    check(cost.n_buffers == 4, "three tensors and one temporary");
    check(cost.workspace_bytes == S_BYTES, "workspace is the temporary");
    check(kiln_plan_workspace(plan) == S_BYTES, "workspace function agrees");
    check(strcmp(buffers[3].name, "s") == 0 && buffers[3].bytes == S_BYTES &&
              buffers[3].offset == 0 && buffers[3].first_use == 0 &&
              buffers[3].last_use == LAUNCHES - 1,
          "temporary s with its lifetime");
    check(cost.bytes_read == moved, "bytes read: x, mask once, s");
    check(cost.bytes_written == 4 * 2 * NUMEL, "bytes written: s and y");
}

/* A strided call of a simple op is one launch and no workspace: no copy. */
static void check_strided(kiln_context *ctx, float *x, float *y)
{
    int64_t shape[] = {B, H, R};
    int64_t strides[] = {R * N * H, N, N * H};
    DLTensor in = tensor(x, shape, 3), out = tensor(y, shape, 3);
    const DLTensor *tensors[] = {&in, &out};
    kiln_attr dim = {"dim", KILN_ATTR_INT, {.i = 1}};
    kiln_cost cost = {0};
    kiln_plan *plan = NULL;

    in.strides = strides;
    check(kiln_plan_create(&plan, ctx, "softmax", tensors, 2, &dim, 1) ==
                  KILN_OK &&
              kiln_plan_cost(plan, &cost) == KILN_OK && cost.launches == 1 &&
              cost.workspace_bytes == 0,
          "a strided softmax is one kernel without workspace");
    kiln_plan_destroy(plan);
}

/* A row whose every small term vanishes beside the large one: a plain float
 * sum over 32 lanes misses 5e-6 of it at 4096 and 1e-5 at 262144 terms. */
static void check_steep(kiln_context *ctx, int64_t n)
{
    float *x = malloc(sizeof *x * (size_t)n),
          *y = malloc(sizeof *y * (size_t)n);
    DLTensor in = tensor(x, &n, 1), out = tensor(y, &n, 1);
    const DLTensor *tensors[] = {&in, &out};
    double sum = 1 + (double)(n - 1) * exp(-17), total = 0;
    kiln_plan *plan = NULL;
    bool ran;

    for (int64_t i = 0; i < n; i++) {
        x[i] = i == n / 3 ? 0.0f : -17.0f;
    }
    ran = kiln_plan_create(&plan, ctx, "softmax", tensors, 2, NULL, 0) ==
              KILN_OK &&
          kiln_plan_prepare(plan, NULL) == KILN_OK &&
          kiln_plan_enqueue(plan, NULL, NULL, NULL) == KILN_OK;
    for (int64_t i = 0; ran && i < n; i++) {
        total += (double)y[i];
    }
    check(ran && fabs((double)y[n / 3] * sum - 1) < 4e-7 &&
              fabs(total - 1) < 4e-7,
          "softmax of one large and many small terms");
    kiln_plan_destroy(plan);
    free(x);
    free(y);
}

int main(void)
{
    float *x = malloc(sizeof *x * NUMEL);
    float *y = malloc(sizeof *y * NUMEL);
    float *mask = malloc(sizeof *mask * R * N);
    kiln_context *ctx = NULL;
    kiln_plan *plan;
    unsigned char *workspace;
    size_t bytes;
    char text[8192];

    if (kiln_context_create(&ctx, (DLDevice){kDLCPU, 0}, NULL) != KILN_OK) {
        printf("not ok context: %s\n", kiln_last_error());
        return 1;
    }
    fill(x, mask);
    memset(y, 0xff, sizeof *y * NUMEL);
    plan = make_plan(ctx, x, mask, y);
    check_cost(plan);
    bytes = kiln_plan_workspace(plan);
    workspace = guarded(bytes);
    memset(workspace, 0xa5, bytes);
    check((uintptr_t)workspace % 256 == 0, "the test's workspace is aligned");
    check(kiln_plan_enqueue(plan, NULL, workspace, NULL) == KILN_OK,
          "enqueue under guard pages");
    check(memcmp(workspace + bytes - 4, "\xa5\xa5\xa5\xa5", 4) != 0 &&
              memcmp(workspace, "\xa5\xa5\xa5\xa5", 4) != 0,
          "touched from the first to the last declared byte");
    check(worst(x, mask, y) < 1e-6, "softmax(x + mask) within 1e-6");
    check(kiln_plan_describe(plan, text, sizeof text) == KILN_OK &&
              strstr(text, "chunked") != NULL,
          "described with its route");
    check_strided(ctx, x, y);
    check_steep(ctx, 4096);
    check_steep(ctx, 262144);
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
    free(x);
    free(y);
    free(mask);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
