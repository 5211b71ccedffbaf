/* sources: runtime/core/ tests/unit/core_tables.c tests/unit/core_call.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core_call.h"

#define BAD KILN_INVALID_ARGUMENT

static void begin_add(core_call *c, int rank, const int64_t *size)
{
    core_begin(c, "add");
    for (int t = 0; t < 3; t++) {
        core_tensor(c, KILN_F32, rank, size);
    }
    c->request.tier = core_tier();
}

static void begin_softmax(core_call *c, int64_t m, int64_t n)
{
    core_begin(c, "softmax");
    core_tensor(c, KILN_F32, DIMS(m, n));
    core_tensor(c, KILN_F32, DIMS(m, n));
    c->request.tier = core_tier();
}

static void expect_key(const kiln_program *program, int node,
                       const char *wanted)
{
    char text[KILN_KEY_TEXT];

    assert_true(node < program->n_nodes);
    assert_string_equal(
        core_key_text(program->nodes[node].key, text, sizeof text), wanted);
}

/* --- routes --------------------------------------------------------------- */

static void expect_route(core_call *c, const char *route)
{
    const kiln_program *program = core_succeed(c);

    assert_int_equal(program->n_decisions, 1);
    assert_string_equal(program->decisions[0].route->name, route);
    assert_ptr_equal(program->decisions[0].op, program->op);
    assert_int_equal(program->decisions[0].depth, 0);
    core_end(c);
}

static void test_routes(void **state)
{
    core_call c;

    (void)state;
    begin_softmax(&c, 3, 64);
    expect_route(&c, "single");
    c.request.route = "looped"; /* it holds, though not first */
    expect_route(&c, "looped");
    begin_softmax(&c, 30, 65);
    expect_route(&c, "looped");
    c.request.route = "single";
    core_refuse(&c, BAD,
                "op softmax: route \"single\" does not hold or does not "
                "exist; routes:\n  single when N <= 64\n  looped");
    c.request.route = "loop";
    core_refuse(&c, BAD,
                "op softmax: route \"loop\" does not hold or does not exist; "
                "routes:\n  single when N <= 64\n  looped");
}

static void test_no_route(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "need");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(3));
    core_absent(&c);
    core_int(&c, "k", 1);
    expect_route(&c, "few");
    c.attr[0].value.i = 10;
    expect_route(&c, "many");
    c.attr[0].value.i = 20;
    core_refuse(&c, BAD,
                "op need: no route holds for this call:\n  few when q > 50\n"
                "  many when q > 5 and numel(x) > 0");
}

/* --- launches ------------------------------------------------------------- */

/* Arguments from `at` on; returns how many they were. */
static int expect_args(const kiln_node *node, int at, int n,
                       const int64_t *values)
{
    for (int i = 0; i < n; i++) {
        if (node->args[at + i] != (uint64_t)values[i]) {
            fail_msg("argument %d is %lld, not %lld", at + i,
                     (long long)node->args[at + i], (long long)values[i]);
        }
    }
    return n;
}

static void expect_patch(const kiln_node *node, int i, int32_t slot,
                         int32_t buffer, int64_t offset)
{
    assert_true(i < node->n_patches);
    assert_int_equal(node->patches[i].slot, slot);
    assert_int_equal(node->patches[i].buffer, buffer);
    assert_int_equal(node->patches[i].offset, offset);
}

/* y = a + alpha * b with a transposed and b broadcast: one outer dim. */
static void test_general_arguments(void **state)
{
    core_call c;
    const kiln_program *program;
    const kiln_node *node;
    double alpha;
    int at = 0;

    (void)state;
    core_begin(&c, "add");
    core_strided(&c, KILN_F32, DIMS(3, 4), LIST(1, 3));
    core_tensor(&c, KILN_F32, DIMS(4))->byte_offset = 20;
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_float(&c, "alpha", 0.1);
    c.request.tier = core_tier();
    program = core_succeed(&c);
    node = &program->nodes[0];
    assert_int_equal(program->n_nodes, 1);
    expect_key(program, 0,
               "add/map f32 flip=0 mode=tanh shift=-3 general n=64");
    assert_string_equal(node->kernel->symbol, "add_8");
    assert_int_equal(node->units, 12);
    assert_int_equal(node->grain, 32);
    assert_int_equal(node->memset_buffer, -1);
    assert_int_equal(node->n_args, 10 + 3 * 10 + 3);
    at += expect_args(node, at, 10, LIST(1, 3, 1, 1, 1, 1, 1, 1, 1, 4));
    at += expect_args(node, at, 10, LIST(0, 1, 0, 0, 0, 0, 0, 0, 0, 3));
    at += expect_args(node, at, 10, LIST(0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
    at += expect_args(node, at, 10, LIST(0, 4, 0, 0, 0, 0, 0, 0, 0, 1));
    memcpy(&alpha, &node->args[at++], sizeof alpha);
    assert_true(alpha == 0.1);
    at += expect_args(node, at, 2, LIST(12 - 8, 0));
    assert_int_equal(at, node->n_args);
    assert_int_equal(node->n_patches, 4);
    expect_patch(node, 0, 10, 0, 0);
    expect_patch(node, 1, 20, 1, 20);
    expect_patch(node, 2, 30, 2, 0);
    expect_patch(node, 3, 42, 0, 0);
    core_end(&c);
}

/* All eight outer dims of a rows op, none of which merge. */
static void test_deep_arguments(void **state)
{
    const int64_t size[] = {2, 2, 2, 2, 2, 2, 2, 3};
    int64_t gaps[8], packed[8], outer[8];
    core_call c;
    const kiln_program *program;
    int64_t step = 1, wide = 2;

    (void)state;
    for (int d = 7; d >= 0; d--) {
        packed[d] = step;
        gaps[d] = wide;
        outer[d] = d < 7 ? 2 : 1;
        step *= size[d];
        wide *= size[d] + 1;
    }
    core_begin(&c, "softmax");
    core_strided(&c, KILN_F32, 8, size, gaps);
    core_tensor(&c, KILN_F32, 8, size);
    c.request.tier = core_tier();
    c.request.route = "looped";
    core_refuse_with(&c, KILN_UNCERTIFIED, "M=1024 N=16"); /* 128 rows */
    core_begin(&c, "softmax");
    core_strided(&c, KILN_F32, 7, size + 1, gaps + 1);
    core_tensor(&c, KILN_F32, 7, size + 1);
    c.request.tier = core_tier();
    program = core_succeed(&c);
    expect_key(program, 0, "softmax/single f32 log=0 general M=64 N=16");
    assert_int_equal(program->nodes[0].n_args, 30);
    assert_int_equal(program->nodes[0].units, 64);
    assert_int_equal(program->nodes[0].grain, 33);
    expect_args(&program->nodes[0], 0, 1, LIST(6));
    expect_args(&program->nodes[0], 1, 6, outer + 1);
    expect_args(&program->nodes[0], 7, 3, LIST(1, 1, 3));
    expect_args(&program->nodes[0], 11, 6, gaps + 1);
    expect_args(&program->nodes[0], 17, 3, LIST(0, 0, 2));
    expect_args(&program->nodes[0], 21, 6, packed + 1);
    expect_args(&program->nodes[0], 27, 3, LIST(0, 0, 1));
    core_end(&c);
}

static void test_absent_argument(void **state)
{
    core_call c;
    const kiln_program *program;

    (void)state;
    core_begin(&c, "quad");
    core_tensor(&c, KILN_F32, DIMS(5));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(5));
    core_tensor(&c, KILN_F32, DIMS(5));
    c.request.tier = core_tier();
    program = core_succeed(&c);
    expect_args(&program->nodes[0], 0, 4, LIST(0, 0, 0, 0));
    assert_int_equal(program->nodes[0].n_patches, 3);
    expect_patch(&program->nodes[0], 1, 2, 2, 0);
    assert_int_equal(program->nodes[0].units, 1);
    assert_int_equal(program->nodes[0].grain, 1); /* at least */
    assert_int_equal(program->buffers[1].first, -1);
    assert_int_equal(program->buffers[1].bytes, 0);
    core_end(&c);
}

/* --- cells ---------------------------------------------------------------- */

static void test_cells(void **state)
{
    core_call c;
    const kiln_node *node;

    (void)state;
    begin_softmax(&c, 6, 50); /* a census cell with a kernel of its own */
    node = core_succeed(&c)->nodes;
    assert_string_equal(node->kernel->symbol, "softmax_32");
    assert_ptr_equal(&c.request.tier->ops[OP_SOFTMAX]->kernels[2],
                     node->kernel);
    assert_int_equal(node->cell, KILN_CELL2(1, KILN_CENSUS_BIT));
    core_end(&c);
    begin_softmax(&c, 65, 4);
    core_refuse(&c, KILN_UNCERTIFIED,
                "op softmax: no certificate for key\n"
                "  softmax/single f32 log=0 contiguous M=1024 N=16\n"
                "on tier cpu base; nearest certified:\n"
                "  softmax/single f32 log=0 contiguous M=64 N=16\n"
                "  softmax/single f32 log=0 contiguous M=64 N=64\n"
                "  softmax/single f32 log=0 contiguous M=64 N=50\n"
                "to serve it: declare it in spec/op/softmax.yaml (lattice, "
                "key) or spec/census, then: make certify TIER=cpu OPS=softmax");
    c.request.tier = NULL; /* dry: a key, no kernel */
    node = core_succeed(&c)->nodes;
    assert_null(node->kernel);
    assert_null(node->run);
    assert_int_equal(node->n_args, 0);
    core_end(&c);
}

static void test_states(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, DIMS(4097));
    core_refuse(&c, KILN_UNCERTIFIED,
                "op add: key\n"
                "  add/map f32 flip=0 mode=tanh shift=-3 contiguous "
                "n=1048576\n"
                "has only forced evidence; options accept_forced serves it");
    c.request.accept_forced = true;
    core_succeed(&c);
    core_end(&c);
    begin_add(&c, DIMS((1 << 20) + 1));
    c.request.accept_forced = true;
    core_refuse(&c, KILN_STALE,
                "op add: the certificate of key\n"
                "  add/map f32 flip=0 mode=tanh shift=-3 contiguous "
                "n=1099511627776\n"
                "no longer fits its source (see STALE.tsv); to renew: make "
                "certify TIER=cpu OPS=add ONLY=stale");
    core_end(&c);
}

static void test_configs(void **state)
{
    core_call c;
    const kiln_node *node;

    (void)state;
    begin_add(&c, DIMS(8));
    c.request.config = "lanes=8";
    node = core_succeed(&c)->nodes;
    assert_string_equal(node->kernel->symbol, "add_8");
    assert_non_null(node->run);
    c.request.config = "lanes=16";
    node = core_succeed(&c)->nodes;
    assert_string_equal(node->kernel->symbol, "add_16");
    assert_null(node->run);
    assert_int_equal(node->grain, 64);
    c.request.config = "lanes=9";
    core_refuse(&c, KILN_UNCERTIFIED,
                "op add: add/map f32 flip=0 mode=tanh shift=-3 contiguous has "
                "no certified config \"lanes=9\"");
}

/* An op that the tier has no list for. */
static void test_no_keys(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "need");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(3));
    core_absent(&c);
    core_int(&c, "k", 1);
    c.request.tier = core_tier();
    core_refuse(&c, KILN_UNCERTIFIED,
                "op need: no certificate for key\n  need/few q=1024\non tier "
                "cpu base; to serve it: declare it in spec/op/need.yaml "
                "(lattice, key) or spec/census, then: make certify TIER=cpu "
                "OPS=need");
}

/* --- classes -------------------------------------------------------------- */

static void test_classes(void **state)
{
    core_call c;
    const kiln_program *program;

    (void)state;
    begin_softmax(&c, 3, 4);
    c.request.tier = NULL;
    c.request.arch = core_aligned;
    c.tensor[0].data = (void *)(uintptr_t)0x1008;
    program = core_succeed(&c);
    expect_key(program, 0,
               "softmax/single f32 log=0 contiguous align1 M=4 N=16");
    assert_int_equal(program->operands[0].align_log2, 0);
    assert_int_equal(program->operands[1].align_log2, 0);
    c.request.arch = core_plain;
    assert_int_equal(core_succeed(&c)->operands[0].align_log2, 0);
    core_end(&c);
    core_begin(&c, "softmax");
    core_strided(&c, KILN_F32, DIMS(2, 4), LIST(INT32_MAX - 3, 1));
    core_tensor(&c, KILN_F32, DIMS(2, 4));
    c.request.arch = core_classed;
    expect_key(core_succeed(&c), 0,
               "softmax/single f32 log=0 inner align16 o32 M=4 N=16");
    c.stride[0][0]++;
    expect_key(core_succeed(&c), 0,
               "softmax/single f32 log=0 inner align1 o64 M=4 N=16");
    core_end(&c);
}

/* --- cost ----------------------------------------------------------------- */

static void expect_cost(core_call *c, int64_t read, int64_t written,
                        int64_t flops)
{
    const kiln_program *program = core_succeed(c);

    assert_int_equal(program->bytes_read, read);
    assert_int_equal(program->bytes_written, written);
    assert_int_equal(program->flops, flops);
    assert_int_equal(program->workspace, 0);
    core_end(c);
}

static void test_cost(void **state)
{
    const int64_t two31 = INT64_C(1) << 31, two60 = INT64_C(1) << 60;
    core_call c;

    (void)state;
    /* b is broadcast: by its shape, then by a stride of 0. */
    core_begin(&c, "add");
    core_tensor(&c, KILN_F16, DIMS(3, 4));
    core_tensor(&c, KILN_F32, DIMS(4));
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    expect_cost(&c, 12 * 2 + 4 * 4, 12 * 4, 24);
    core_begin(&c, "add");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_strided(&c, KILN_F32, DIMS(3, 4), LIST(0, 9));
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    expect_cost(&c, 12 * 4 + 4 * 4, 12 * 4, 24);
    /* What is read and written counts as both. */
    core_begin(&c, "update");
    core_tensor(&c, KILN_F32, SCALAR);
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    expect_cost(&c, 4 + 48, 48, 0);
    /* Windows that overlap: no more than what they span. */
    core_begin(&c, "need");
    core_strided(&c, KILN_F32, DIMS(two31, two31), LIST(1, 1));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(two31));
    core_absent(&c);
    core_int(&c, "k", 1);
    expect_cost(&c, (2 * two31 - 1) * 4, two31 * 4, 0);
    /* Sums past int64 are refused. */
    core_begin(&c, "quad");
    core_tensor(&c, KILN_F32, DIMS(two60));
    core_tensor(&c, KILN_F32, DIMS(two60));
    core_tensor(&c, KILN_F32, DIMS(two60));
    core_tensor(&c, KILN_F32, DIMS(two60));
    core_refuse(&c, BAD,
                "op quad: the plan's bytes or operations overflow int64");
    /* An operation count past int64 is one that its expression refuses. */
    core_begin(&c, "softmax");
    core_strided(&c, KILN_F16, DIMS(two60 * 2, 1), LIST(1, 1));
    core_strided(&c, KILN_F16, DIMS(two60 * 2, 1), LIST(1, 1));
    core_refuse_with(&c, BAD, "op softmax: 5 * numel(x): ");
}

static void test_buffers(void **state)
{
    core_call c;
    const kiln_program *program;

    (void)state;
    core_begin(&c, "add");
    core_strided(&c, KILN_F32, DIMS(3, 4), LIST(10, 2));
    core_tensor(&c, KILN_F32, SCALAR)->byte_offset = 400;
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    program = core_succeed(&c);
    assert_int_equal(program->n_buffers, 3);
    assert_int_equal(program->n_operands, 3);
    assert_string_equal(program->buffers[1].name, "b");
    assert_int_equal(program->buffers[0].bytes, (2 * 10 + 3 * 2 + 1) * 4);
    assert_int_equal(program->buffers[1].bytes, 4);
    assert_int_equal(program->buffers[2].bytes, 48);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(program->buffers[i].offset, -1);
        assert_int_equal(program->buffers[i].first, 0);
        assert_int_equal(program->buffers[i].last, 0);
    }
    core_end(&c);
}

/* --- memory --------------------------------------------------------------- */

typedef struct meter {
    int calls;
    int live;
    int first_refused; /* -1: none */
    bool then_all;
} meter;

static void *meter_allocate(void *user, size_t bytes)
{
    meter *m = user;
    int n = m->calls++;
    void *memory;

    if (n == m->first_refused || (m->then_all && n > m->first_refused)) {
        return NULL;
    }
    memory = malloc(bytes);
    memset(memory, 0xa5, bytes);
    m->live++;
    return memory;
}

static void meter_release(void *user, void *memory)
{
    ((meter *)user)->live--;
    free(memory);
}

/* Plans with every allocation refused in turn. */
static void check_memory(core_call *c, int least)
{
    meter m = {0, 0, -1, false};
    const kiln_allocator allocator = {meter_allocate, meter_release, &m};
    int calls;

    c->request.allocator = &allocator;
    core_succeed(c);
    calls = m.calls;
    assert_int_equal(m.live, calls);
    core_end(c);
    assert_int_equal(m.live, 0);
    assert_true(calls >= least);
    for (int n = 0; n < 2 * calls; n++) {
        m = (meter){0, 0, n / 2, n % 2 == 1};
        core_refuse_with(c, KILN_OUT_OF_MEMORY, ": plan: allocation of ");
        assert_int_equal(m.live, 0);
        assert_int_equal(m.calls, n / 2 + 1); /* nothing is tried again */
    }
    c->request.allocator = NULL;
}

static void test_memory(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, DIMS(3, 4));
    check_memory(&c, 1);
    core_begin(&c, "part");
    core_tensor(&c, KILN_F32, DIMS(60, 4));
    core_tensor(&c, KILN_F32, DIMS(60, 4));
    core_int(&c, "parts", 20);
    c.request.tier = core_tier();
    check_memory(&c, 4);
    core_begin(&c, "loop");
    core_tensor(&c, KILN_F32, DIMS(3));
    core_tensor(&c, KILN_F32, DIMS(3));
    core_int(&c, "stop", 500);
    check_memory(&c, 4);
}

/* A failed call leaves nothing behind either. */
static void test_no_leaks(void **state)
{
    meter m = {0, 0, -1, false};
    const kiln_allocator allocator = {meter_allocate, meter_release, &m};
    core_call c;

    (void)state;
    begin_softmax(&c, 65, 4);
    c.request.allocator = &allocator;
    core_refuse_with(&c, KILN_UNCERTIFIED, "no certificate");
    assert_int_equal(m.live, 0);
    core_int(&c, "dim", 2);
    core_refuse_with(&c, BAD, "size: dim 2");
    core_float(&c, "log", 2);
    core_refuse_with(&c, BAD, "expects bool");
    c.tensor[0].ndim = 10;
    core_refuse_with(&c, BAD, "rank");
    assert_int_equal(m.live, 0);
    assert_true(m.calls > 0);
    kiln_program_destroy(NULL);
}

/* --- any call ------------------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15u;

static int64_t pick(const int64_t *values, int n)
{
    return values[core_between(&seed, 0, n - 1)];
}

#define PICK(...) pick(LIST(__VA_ARGS__), COUNT_OF(__VA_ARGS__))
#define COUNT_OF(...) (int)(sizeof LIST(__VA_ARGS__) / sizeof(int64_t))

static int64_t random_size(void)
{
    if (core_between(&seed, 0, 40) > 0) {
        return PICK(1, 2, 3, 4, 4, 4);
    }
    return PICK(0, -1, 64, 65, INT64_C(1) << 31, INT64_C(1) << 32,
                INT64_C(1) << 61, INT64_MAX, INT64_MIN);
}

static void add_random_tensor(core_call *c, int rank, const int64_t *size)
{
    int64_t own[KILN_MAX_RANK], stride[KILN_MAX_RANK];
    kiln_dtype dtype =
        core_between(&seed, 0, 30) > 0
            ? KILN_F32
            : (kiln_dtype)core_between(&seed, KILN_BOOL, KILN_F64);
    bool strided = core_between(&seed, 0, 3) == 0;
    DLTensor *tensor;

    for (int d = 0; d < rank; d++) {
        own[d] = core_between(&seed, 0, 20) > 0 ? size[d] : random_size();
        stride[d] = core_between(&seed, 0, 9) > 0
                        ? PICK(1, 4, 4, 12, 16, 0)
                        : PICK(-1, INT64_C(1) << 31, INT64_C(1) << 60,
                               INT64_MAX, INT64_MIN);
    }
    tensor = core_strided(c, dtype, rank, own, strided ? stride : NULL);
    if (core_between(&seed, 0, 2) == 0) {
        tensor->data =
            (void *)(uintptr_t)(core_between(&seed, 0x100, 0x180) * 4);
    }
    if (core_between(&seed, 0, 9) == 0) {
        tensor->byte_offset = (uint64_t)core_random(&seed) >> 1;
    }
    if (core_between(&seed, 0, 20) == 0) {
        c->pointer[c->request.n_tensors - 1] = NULL;
    }
}

static void add_random_attrs(core_call *c, const kiln_op *op)
{
    for (int a = 0; a < op->n_attrs; a++) {
        const kiln_op_attr *attr = &op->attrs[a];
        int64_t value = core_between(&seed, 0, 8) > 0
                            ? core_between(&seed, -3, 11)
                            : PICK(INT64_MIN, INT64_MAX, 1000, 127, -129);

        if (core_between(&seed, 0, 3) == 0 && !attr->required) {
            continue;
        }
        if (attr->type == KILN_TYPE_STRING) {
            core_string(c, attr->name, "none");
        } else if (attr->type == KILN_TYPE_BOOL) {
            core_bool(c, attr->name, (int)core_between(&seed, 0, 1));
        } else {
            core_int(c, attr->name, value);
        }
    }
}

static void check_program(const kiln_program *p)
{
    assert_true(p->workspace >= 0 && p->bytes_read >= 0 &&
                p->bytes_written >= 0);
    assert_true(p->n_nodes <= KILN_MAX_NODES);
    for (int i = 0; i < p->n_buffers; i++) {
        const kiln_buffer *b = &p->buffers[i];

        assert_true(b->bytes >= 0 && b->first <= b->last &&
                    b->last < p->n_nodes);
        assert_int_equal(b->offset >= 0, i >= p->n_operands);
        assert_true(b->offset < 0 || b->first < 0 ||
                    b->offset + b->bytes <= p->workspace);
    }
    for (int i = 0; i < p->n_nodes; i++) {
        for (int k = 0; k < p->nodes[i].n_patches; k++) {
            const kiln_patch *patch = &p->nodes[i].patches[k];

            assert_true(patch->slot < p->nodes[i].n_args);
            assert_true(patch->buffer < p->n_buffers && patch->offset >= 0);
            assert_true(p->buffers[patch->buffer].first >= 0);
        }
    }
}

/* Whatever the metadata, a call is planned or refused in words. */
static void test_any_call(void **state)
{
    int planned = 0;

    (void)state;
    for (int i = 0; i < 40000; i++) {
        const kiln_op *op =
            core_tables.ops[core_between(&seed, 0, OP_COUNT - 1)];
        int rank = (int)PICK(0, 1, 2, 2, 2, 2, 3, 8);
        int64_t size[KILN_MAX_RANK];
        core_call c;

        core_begin(&c, op->name);
        for (int d = 0; d < rank; d++) {
            size[d] = random_size();
        }
        for (int t = 0; t < op->n_tensors; t++) {
            add_random_tensor(&c, rank, size);
        }
        add_random_attrs(&c, op);
        c.request.tier = core_between(&seed, 0, 1) ? core_tier() : NULL;
        c.request.arch = core_between(&seed, 0, 1) ? core_plain : core_classed;
        c.request.accept_forced = true;
        if (core_plan(&c) == KILN_OK) {
            check_program(c.program);
            planned++;
        } else {
            assert_null(c.program);
            assert_memory_equal(c.err.text, "op ", 3);
        }
        core_end(&c);
    }
    print_message("# %d of 40000 calls were planned\n", planned);
    assert_true(planned > 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_no_route),
        cmocka_unit_test(test_general_arguments),
        cmocka_unit_test(test_deep_arguments),
        cmocka_unit_test(test_absent_argument),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_configs),
        cmocka_unit_test(test_no_keys),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_no_leaks),
        cmocka_unit_test(test_any_call),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
