/* sources: runtime/core/ tests/unit/core_tables.c tests/unit/core_call.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core_call.h"

#define BAD KILN_INVALID_ARGUMENT

static void expect_key(const kiln_program *program, int node,
                       const char *wanted)
{
    char text[KILN_KEY_TEXT];

    assert_true(node < program->n_nodes);
    assert_non_null(program->nodes[node].key);
    assert_string_equal(
        core_key_text(program->nodes[node].key, text, sizeof text), wanted);
}

static void expect_buffer(const kiln_program *program, int i, const char *name,
                          int64_t bytes, int64_t offset, int first, int last)
{
    const kiln_buffer *buffer = &program->buffers[i];

    assert_string_equal(buffer->name, name);
    assert_int_equal(buffer->bytes, bytes);
    assert_int_equal(buffer->offset, offset);
    assert_int_equal(buffer->first, first);
    assert_int_equal(buffer->last, last);
}

static void expect_patch(const kiln_program *program, int node, int i,
                         int32_t buffer, int64_t offset)
{
    assert_true(i < program->nodes[node].n_patches);
    assert_int_equal(program->nodes[node].patches[i].buffer, buffer);
    assert_int_equal(program->nodes[node].patches[i].offset, offset);
}

static void begin(core_call *c, const char *op, int64_t m, int64_t n)
{
    core_begin(c, op);
    core_tensor(c, KILN_F32, DIMS(m, n));
    core_tensor(c, KILN_F32, DIMS(m, n));
    if (strcmp(op, "chunked") == 0) {
        core_absent(c);
    }
    c->request.tier = core_tier();
}

/* --- a composite op ------------------------------------------------------- */

/* x [5, 4] in chunks of 2, 2 and 1 rows: buffers x, y, bias, t, z. */
static void test_chunked(void **state)
{
    core_call c;
    const kiln_program *p;

    (void)state;
    begin(&c, "chunked", 5, 4);
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 5);
    assert_int_equal(p->nodes[0].memset_buffer, 4);
    assert_null(p->nodes[0].kernel);
    for (int i = 1; i < 4; i++) {
        expect_key(p, i, "softmax/single f32 log=0 contiguous M=4 N=16");
        assert_int_equal(p->nodes[i].key->size[0], i < 3 ? 2 : 1);
        assert_int_equal(p->nodes[i].key->size[1], 4);
        assert_int_equal(p->nodes[i].memset_buffer, -1);
        expect_patch(p, i, 0, 0, (i - 1) * 2 * 4 * 4);
        expect_patch(p, i, 1, 3, (i - 1) * 2 * 4 * 4);
    }
    /* Both transposed: an inner layout, z broadcast along M. */
    expect_key(p, 4, "add/map f32 flip=0 mode=tanh shift=-3 inner n=64");
    assert_int_equal(p->nodes[4].args[0], 1);
    assert_int_equal(p->nodes[4].args[1], 5);
    assert_int_equal(p->nodes[4].args[9], 4);
    assert_int_equal(p->nodes[4].args[11], 4);
    assert_int_equal(p->nodes[4].args[21], 0);
    assert_int_equal(p->nodes[4].args[31], 4);
    assert_int_equal(p->n_buffers, 5);
    assert_int_equal(p->n_operands, 3);
    expect_buffer(p, 0, "x", 80, -1, 1, 3);
    expect_buffer(p, 1, "y", 80, -1, 4, 4);
    expect_buffer(p, 2, "bias", 0, -1, -1, -1);
    expect_buffer(p, 3, "t", 80, 0, 1, 4);
    expect_buffer(p, 4, "z", 16, 256, 0, 4);
    assert_int_equal(p->workspace, 256 + 16);
    assert_int_equal(p->bytes_read, 80 + 80 + 16);
    assert_int_equal(p->bytes_written, 16 + 80 + 80);
    assert_int_equal(p->flops, 5 * 20 + 2 * 20);
    core_end(&c);
}

static void test_when(void **state)
{
    core_call c;
    const kiln_program *p;
    double alpha;

    (void)state;
    begin(&c, "chunked", 5, 4);
    c.request.n_tensors = 2;
    core_tensor(&c, KILN_F32, DIMS(3));
    core_int(&c, "rows", 100);
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 4);
    expect_key(p, 1, "softmax/single f32 log=0 contiguous M=64 N=16");
    /* In place on all of y, the bias' first element broadcast. */
    expect_key(p, 3, "add/map f32 flip=0 mode=none shift=-3 general n=64");
    expect_patch(p, 3, 0, 1, 0);
    expect_patch(p, 3, 1, 2, 0);
    expect_patch(p, 3, 2, 1, 0);
    memcpy(&alpha, &p->nodes[3].args[40], sizeof alpha);
    assert_true(alpha == 2.0);
    expect_buffer(p, 1, "y", 80, -1, 2, 3);
    expect_buffer(p, 2, "bias", 12, -1, 3, 3);
    assert_int_equal(p->bytes_read, 80 + 80 + 16 + 80 + 4);
    assert_int_equal(p->bytes_written, 16 + 80 + 80 + 80);
    assert_int_equal(p->flops, 5 * 20 + 2 * 20 + 2 * 20);
    core_end(&c);
}

/* --- nested twice --------------------------------------------------------- */

static void test_nested(void **state)
{
    static const struct {
        const char *op;
        int depth;
    } wanted[] = {{"part", 0},    {"chunked", 1}, {"softmax", 2},
                  {"softmax", 2}, {"add", 2},     {"chunked", 1},
                  {"softmax", 2}, {"softmax", 2}, {"add", 2}};
    core_call c;
    const kiln_program *p;

    (void)state;
    begin(&c, "part", 6, 4); /* two parts of 3 rows, each in chunks of 2 */
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 8);
    assert_int_equal(p->n_decisions, 9);
    for (int i = 0; i < 9; i++) {
        assert_string_equal(p->decisions[i].op->name, wanted[i].op);
        assert_int_equal(p->decisions[i].depth, wanted[i].depth);
    }
    expect_patch(p, 1, 0, 0, 0);
    expect_patch(p, 2, 0, 0, 32);
    expect_patch(p, 2, 1, 2, 32);
    expect_patch(p, 5, 0, 0, 48);
    expect_patch(p, 6, 0, 0, 80);
    expect_patch(p, 6, 1, 4, 32);
    expect_patch(p, 7, 2, 1, 48);
    assert_int_equal(p->n_buffers, 6);
    expect_buffer(p, 0, "x", 96, -1, 1, 6);
    expect_buffer(p, 1, "y", 96, -1, 3, 7);
    /* The second part's temporaries take the place of the first's. */
    expect_buffer(p, 2, "t", 48, 0, 1, 3);
    expect_buffer(p, 3, "z", 16, 256, 0, 3);
    expect_buffer(p, 4, "t", 48, 0, 5, 7);
    expect_buffer(p, 5, "z", 16, 256, 4, 7);
    assert_int_equal(p->workspace, 256 + 16);
    assert_int_equal(p->flops, 5 * 24 + 2 * 24);
    assert_int_equal(p->bytes_read, 96 + 96 + 32);
    assert_int_equal(p->bytes_written, 32 + 96 + 96);
    core_end(&c);
}

/* Parts without rows are planned to nothing, temporaries included. */
static void test_empty_parts(void **state)
{
    core_call c;
    const kiln_program *p;

    (void)state;
    begin(&c, "part", 1, 4);
    core_int(&c, "parts", 3);
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 3);
    assert_int_equal(p->n_buffers, 4);
    core_end(&c);
    begin(&c, "part", 4, 0);
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 0);
    assert_int_equal(p->workspace, 0);
    core_end(&c);
}

/* The callee's failure says where it was called from. */
static void test_nested_failure(void **state)
{
    core_call c;

    (void)state;
    begin(&c, "part", 6, 40000);
    core_refuse_with(&c, KILN_UNCERTIFIED,
                     "op softmax: no certificate for key\n  softmax/looped "
                     "f32 log=0 contiguous M=4 N=>40000\n");
    core_refuse_with(&c, KILN_UNCERTIFIED,
                     "make certify TIER=cpu OPS=softmax\n(in a step of op "
                     "part)");
    begin(&c, "part", 6, 4);
    core_int(&c, "parts", 0);
    core_succeed(&c);
    c.attr[0].value.i = -1;
    core_succeed(&c); /* range(0, -1) is empty */
    core_end(&c);
}

/* --- temporaries ---------------------------------------------------------- */

static void test_workspace_limit(void **state)
{
    core_call c;

    (void)state;
    begin(&c, "chunked", 5, 4);
    c.request.workspace_limit = 272;
    core_succeed(&c);
    c.request.workspace_limit = 271;
    core_refuse(&c, KILN_WORKSPACE_LIMIT,
                "op chunked: route steps needs 272 bytes of workspace, the "
                "limit is 271");
    c.request.workspace_limit = 0;
    core_succeed(&c);
    core_end(&c);
}

/* A temporary that no step uses takes no room; used, it does. */
static void test_unused_temporary(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "loop");
    core_tensor(&c, KILN_F32, DIMS(100));
    core_tensor(&c, KILN_F32, DIMS(100));
    core_int(&c, "stop", 0);
    assert_int_equal(core_succeed(&c)->workspace, 0);
    c.attr[0].value.i = 1;
    assert_int_equal(core_succeed(&c)->workspace, 400);
    core_end(&c);
}

static void test_buffer_limit(void **state)
{
    core_call c;

    (void)state;
    begin(&c, "part", 128, 4);
    core_int(&c, "parts", 127);
    assert_int_equal(core_succeed(&c)->n_buffers, 256);
    c.attr[0].value.i = 128;
    core_refuse(&c, BAD,
                "op part: the plan needs more than 256 buffers\n(in a step of "
                "op part)");
}

/* --- loops ---------------------------------------------------------------- */

static void begin_loop(core_call *c, int64_t start, int64_t stop, int64_t step)
{
    core_begin(c, "loop");
    core_tensor(c, KILN_F32, DIMS(3));
    core_tensor(c, KILN_F32, DIMS(3));
    core_int(c, "start", start);
    core_int(c, "stop", stop);
    core_int(c, "step", step);
}

static void expect_rounds(int64_t start, int64_t stop, int64_t step, int wanted)
{
    core_call c;

    begin_loop(&c, start, stop, step);
    assert_int_equal(core_succeed(&c)->n_nodes, wanted);
    core_end(&c);
}

static void test_loops(void **state)
{
    core_call c;

    (void)state;
    expect_rounds(0, 10, 1, 10);
    expect_rounds(0, 10, 3, 4);
    expect_rounds(-7, 5, 6, 2);
    expect_rounds(5, 5, 1, 0);
    expect_rounds(6, 5, 1, 0);
    expect_rounds(INT64_MIN, 5, INT64_MAX, 2); /* the next would overflow */
    expect_rounds(INT64_MIN, INT64_MIN + 2, 1, 2);
    expect_rounds(INT64_MAX, INT64_MIN, INT64_MAX, 0);
    for (int64_t by = -1; by <= 0; by++) {
        begin_loop(&c, 0, 5, by);
        core_refuse(&c, BAD,
                    by == 0 ? "op loop: loop: step step is 0, not positive"
                            : "op loop: loop: step step is -1, not positive");
    }
}

static void test_loop_limits(void **state)
{
    core_call c;

    (void)state;
    expect_rounds(0, 4096, 1, 4096);
    begin_loop(&c, 0, 4097, 1);
    core_refuse(&c, BAD,
                "op loop: the plan needs more than 4096 launches\n(in a step "
                "of op loop)");
    /* Rounds that launch nothing are bounded too, all loops together: each
     * round here has an inner loop of one. */
    expect_rounds(100000, 100000 + 32768, 1, 0);
    begin_loop(&c, 100000, 100000 + 32769, 1);
    core_refuse(&c, BAD,
                "op loop: loop: the plan's loops take more than 65536 rounds");
    begin_loop(&c, INT64_MIN, INT64_MAX, 1);
    core_refuse(&c, BAD,
                "op loop: loop: the plan's loops take more than 65536 rounds");
    expect_rounds(INT64_MIN, INT64_MAX, INT64_MAX, 0);
}

static void test_depth(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "recur");
    core_tensor(&c, KILN_F32, DIMS(3));
    core_tensor(&c, KILN_F32, DIMS(3));
    core_refuse(&c, BAD,
                "op recur: steps nest deeper than 8\n(in a step of op recur)");
}

/* --- steps that are wrong ------------------------------------------------- */

static void begin_misuse(core_call *c, int64_t how)
{
    core_begin(c, "misuse");
    core_tensor(c, KILN_F32, DIMS(4, 4));
    core_tensor(c, KILN_F32, DIMS(4, 4));
    core_int(c, "how", how);
}

static void expect_misuse(int64_t how, kiln_status status, const char *text)
{
    core_call c;

    begin_misuse(&c, how);
    core_refuse(&c, status, text);
}

static void test_misuse(void **state)
{
    (void)state;
    expect_misuse(0, KILN_INTERNAL,
                  "op misuse: step quad: y: would write the input x\n(in a "
                  "step of op misuse)");
    expect_misuse(1, BAD,
                  "op quad: tensor y overlaps tensor a\n(in a step of op "
                  "misuse)");
    expect_misuse(3, BAD,
                  "op misuse: step quad: a: view(x, [3, 5]): view: sizes for "
                  "15 elements, the tensor has 16\n(in a step of op misuse)");
    expect_misuse(4, BAD,
                  "op misuse: step quad: a: 3: is not a tensor\n(in a step of "
                  "op misuse)");
    expect_misuse(5, BAD,
                  "op softmax: attribute dim: expects int, got ?\n(in a step "
                  "of op misuse)");
    expect_misuse(6, BAD,
                  "op softmax: N: size(x, dim): size: dim 5 must be -2 to 1, "
                  "as the tensor has 2 dims\n(in a step of op misuse)");
    expect_misuse(7, KILN_INTERNAL, "op misuse: step: no op \"gone\"");
    expect_misuse(9, BAD,
                  "op softmax: tensor y: is required\n(in a step of op "
                  "misuse)");
    expect_misuse(11, BAD, "op misuse: temporary odd: size overflows int64");
    expect_misuse(-2, BAD, "op misuse: temporary odd: negative size");
}

/* Two pairs of operands in two buffers: each pair is apart. */
static void test_pairs(void **state)
{
    core_call c;
    const kiln_program *p;

    (void)state;
    begin_misuse(&c, 2);
    c.request.tier = core_tier();
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 2);
    expect_patch(p, 1, 0, 2, 0);
    expect_patch(p, 1, 1, 3, 0);
    expect_patch(p, 1, 2, 2, 16);
    expect_patch(p, 1, 3, 3, 16);
    core_end(&c);
}

/* A temporary and a view of rank 0 are [1] within steps. */
static void test_scalars(void **state)
{
    core_call c;
    const kiln_program *p;

    (void)state;
    begin_misuse(&c, 10);
    p = core_succeed(&c);
    assert_int_equal(p->n_nodes, 2);
    assert_int_equal(p->nodes[0].memset_buffer, 5);
    expect_key(p, 1, "softmax/single f32 log=0 contiguous M=4 N=16");
    expect_buffer(p, 2, "t", 32, 0, 1, 1);
    expect_buffer(p, 5, "none", 4, 256, 0, 1);
    assert_int_equal(p->workspace, 256 + 4);
    core_end(&c);
}

/* --- the caller's tensors ------------------------------------------------- */

static void test_overlap(void **state)
{
    core_call c;

    (void)state;
    begin(&c, "chunked", 5, 4);
    c.tensor[0].data = (void *)(uintptr_t)0x1000;
    c.tensor[1].data = (void *)(uintptr_t)0x1050;
    core_succeed(&c);
    c.tensor[1].data = (void *)(uintptr_t)0x1000;
    core_refuse(&c, BAD, "op chunked: tensor y overlaps tensor x");
}

/* Views within steps: what they start at decides the alignment class. */
static void test_alignment(void **state)
{
    core_call c;
    const kiln_program *p;

    (void)state;
    begin(&c, "chunked", 5, 6);
    c.request.tier = NULL;
    c.request.arch = core_aligned;
    core_int(&c, "rows", 1);
    p = core_succeed(&c);
    expect_key(p, 1, "softmax/single f32 log=0 contiguous align16 M=4 N=16");
    expect_key(p, 2, "softmax/single f32 log=0 contiguous align1 M=4 N=16");
    expect_key(p, 3, "softmax/single f32 log=0 contiguous align16 M=4 N=16");
    assert_int_equal(p->operands[0].align_log2, 4);
    assert_int_equal(p->operands[1].align_log2, 0);
    assert_int_equal(p->operands[2].align_log2, 0);
    core_end(&c);
}

static void test_shapes(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "chunked"); /* its lets name dim 1 */
    core_tensor(&c, KILN_F32, DIMS(5));
    core_tensor(&c, KILN_F32, DIMS(5));
    core_absent(&c);
    core_refuse_with(&c, BAD, "op chunked: N: size(x, 1): size: dim 1");
    begin(&c, "chunked", 4, 3); /* y cannot be merged */
    c.request.n_tensors = 2;
    c.tensor[1].strides = (int64_t[]){4, 1};
    core_tensor(&c, KILN_F32, DIMS(1));
    core_refuse(&c, BAD,
                "op chunked: step add: a: merge(y, 0, 1): merge: no one "
                "stride walks through dims 0 to 1; pass a contiguous "
                "tensor\n(in a step of op chunked)");
    begin(&c, "chunked", 0, 3);
    assert_int_equal(core_succeed(&c)->n_nodes, 0);
    core_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_nested_failure),
        cmocka_unit_test(test_workspace_limit),
        cmocka_unit_test(test_unused_temporary),
        cmocka_unit_test(test_buffer_limit),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_loop_limits),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_shapes),
    };

    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
