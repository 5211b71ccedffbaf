/* sources: runtime/core/ tests/unit/core_tables.c tests/unit/core_call.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core_call.h"

#define BAD KILN_INVALID_ARGUMENT

/* A call of add with a, b and y of those dtypes and one shape, [3, 4]. */
static void begin_add(core_call *c, kiln_dtype a, kiln_dtype b, kiln_dtype y)
{
    core_begin(c, "add");
    core_tensor(c, a, DIMS(3, 4));
    core_tensor(c, b, DIMS(3, 4));
    core_tensor(c, y, DIMS(3, 4));
}

static void begin_softmax(core_call *c)
{
    core_begin(c, "softmax");
    core_tensor(c, KILN_F32, DIMS(3, 4));
    core_tensor(c, KILN_F32, DIMS(3, 4));
}

static void pass(core_call *c)
{
    core_succeed(c);
    core_end(c);
}

/* --- one tensor ----------------------------------------------------------- */

static void test_presence(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    pass(&c);
    c.pointer[1] = NULL;
    core_refuse(&c, BAD, "op add: tensor b: is required");
    c.pointer[1] = &c.tensor[1];
    c.request.n_tensors = 2;
    core_refuse(&c, BAD,
                "op add: takes 3 tensors (absent ones NULL), got 2: a b y");
    c.request.n_tensors = 4;
    core_refuse(&c, BAD,
                "op add: takes 3 tensors (absent ones NULL), got 4: a b y");
    c.request.n_tensors = 0;
    c.request.tensors = NULL;
    core_refuse(&c, BAD,
                "op add: takes 3 tensors (absent ones NULL), got 0: a b y");
    core_begin(&c, "none");
    core_refuse(&c, BAD,
                "no op \"none\"; there are: add chunked loop misuse need part "
                "quad recur softmax update");
    core_begin(&c, "quad");
    core_tensor(&c, KILN_F32, DIMS(3));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(3));
    core_tensor(&c, KILN_F32, DIMS(3));
    pass(&c);
}

static void test_metadata(void **state)
{
    core_call c;
    DLTensor good;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    good = c.tensor[1];
    c.tensor[1].ndim = 9;
    core_refuse(&c, BAD, "op add: tensor b: rank is not 0 to 8");
    c.tensor[1].ndim = -1;
    core_refuse(&c, BAD, "op add: tensor b: rank is not 0 to 8");
    c.tensor[1].ndim = INT32_MAX;
    core_refuse(&c, BAD, "op add: tensor b: rank is not 0 to 8");
    c.tensor[1] = good;
    c.tensor[1].shape = NULL;
    core_refuse(&c, BAD, "op add: tensor b: shape is NULL");
    c.tensor[1] = good;
    c.size[1][1] = -1;
    core_refuse(&c, BAD, "op add: tensor b: negative size");
    c.size[1][1] = INT64_MIN;
    core_refuse(&c, BAD, "op add: tensor b: negative size");
    c.size[1][1] = 4;
    c.tensor[1].strides = (int64_t[]){-4, 1};
    core_refuse(&c, BAD,
                "op add: tensor b: negative strides are not supported");
    c.tensor[1] = good;
    c.tensor[1].byte_offset = UINT64_MAX;
    core_refuse(&c, BAD, "op add: tensor b: byte_offset is too large");
    c.tensor[1] = good;
    c.tensor[1].dtype.lanes = 2;
    core_refuse(&c, BAD,
                "op add: tensor b: unknown dtype (code, bits or lanes)");
    c.tensor[1].dtype = (DLDataType){kDLComplex, 64, 1};
    core_refuse(&c, BAD,
                "op add: tensor b: unknown dtype (code, bits or lanes)");
    c.tensor[1] = good;
    c.tensor[1].device.device_id = 1;
    core_refuse(&c, BAD,
                "op add: tensor b: on device 1:1, the context is on 1:0");
    c.tensor[1].device = (DLDevice){kDLCUDA, 0};
    core_refuse(&c, BAD,
                "op add: tensor b: on device 2:0, the context is on 1:0");
    c.tensor[1] = good;
    pass(&c);
}

static void expect_overflow(const int64_t *size, const int64_t *stride,
                            const char *what)
{
    core_call c;
    char text[200] = "op quad: tensor a: ";

    core_begin(&c, "quad");
    core_strided(&c, KILN_F32, 2, size, stride);
    core_absent(&c);
    core_strided(&c, KILN_F32, 2, size, stride);
    core_strided(&c, KILN_F32, 2, size, stride);
    strcat(text, what);
    core_refuse(&c, BAD, text);
}

static void test_overflow(void **state)
{
    const int64_t two32 = INT64_C(4294967296), two62 = INT64_C(1) << 62;

    (void)state;
    expect_overflow(LIST(two32, two32), NULL, "element count overflows int64");
    expect_overflow(LIST(two32, two32), LIST(0, 0),
                    "element count overflows int64");
    expect_overflow(LIST(INT64_MAX, 2), NULL, "element count overflows int64");
    expect_overflow(LIST(two62, 1), NULL, "byte extent overflows int64");
    expect_overflow(LIST(2, 2), LIST(INT64_MAX, 1),
                    "byte extent overflows int64");
    expect_overflow(LIST(3, 2), LIST(INT64_MAX, 1),
                    "byte extent overflows int64");
    expect_overflow(LIST(2, 2), LIST(two62, two62),
                    "byte extent overflows int64");
}

static void test_data(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    c.tensor[0].data = (void *)(uintptr_t)0x1002;
    core_refuse(&c, BAD,
                "op add: tensor a: data is not aligned to its element size");
    c.tensor[0].byte_offset = 2;
    pass(&c);
    c.tensor[0].byte_offset = 4;
    core_refuse(&c, BAD,
                "op add: tensor a: data is not aligned to its element size");
    c.tensor[0].data = NULL; /* taken as aligned, offset or not */
    pass(&c);
}

/* --- dtypes --------------------------------------------------------------- */

static void test_dtypes(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_I32, KILN_F32, KILN_F32);
    core_refuse(&c, BAD, "op add: tensor a: dtype i32 is none of: f16 f32 f64");
    begin_add(&c, KILN_F16, KILN_F64, KILN_F64);
    core_refuse(&c, BAD,
                "op add: tensor b: dtype f64 is none of: f32 f16 (that of a)");
    begin_add(&c, KILN_F16, KILN_F16, KILN_F32);
    core_refuse(&c, BAD,
                "op add: tensor y: dtype f32 is none of: f16 (the inputs' "
                "promotion)");
    begin_add(&c, KILN_F16, KILN_F32, KILN_F16);
    core_refuse(&c, BAD,
                "op add: tensor y: dtype f16 is none of: f32 (the inputs' "
                "promotion)");
    begin_add(&c, KILN_F64, KILN_F64, KILN_F64);
    pass(&c);
    begin_add(&c, KILN_F64, KILN_F32, KILN_F64);
    pass(&c);
    begin_add(&c, KILN_F16, KILN_F32, KILN_F32);
    pass(&c);
}

/* PyTorch's result type of a f16 [3] and an f32 of rank 0 is f16, of two of
 * rank 0 or two with dims f32: what would differ is refused. */
static void test_scalar_promotion(void **state)
{
    const char *text = "op add: tensor y: a rank-0 operand of a higher dtype "
                       "does not promote here; cast it first";
    core_call c;

    (void)state;
    for (int out = 0; out < 2; out++) {
        core_begin(&c, "add");
        core_tensor(&c, KILN_F16, DIMS(3));
        core_tensor(&c, KILN_F32, SCALAR);
        core_tensor(&c, out ? KILN_F16 : KILN_F32, DIMS(3));
        core_refuse(&c, BAD, text);
    }
    core_begin(&c, "add"); /* [1] is no scalar */
    core_tensor(&c, KILN_F16, DIMS(3));
    core_tensor(&c, KILN_F32, DIMS(1));
    core_tensor(&c, KILN_F32, DIMS(3));
    pass(&c);
    core_begin(&c, "add"); /* lower: both rules agree */
    core_tensor(&c, KILN_F64, DIMS(3));
    core_tensor(&c, KILN_F32, SCALAR);
    core_tensor(&c, KILN_F64, DIMS(3));
    pass(&c);
    core_begin(&c, "add");
    core_tensor(&c, KILN_F16, SCALAR);
    core_tensor(&c, KILN_F32, SCALAR);
    core_tensor(&c, KILN_F32, SCALAR);
    pass(&c);
}

/* --- shapes --------------------------------------------------------------- */

static void expect_shape(int rank_a, const int64_t *a, int rank_b,
                         const int64_t *b, int rank_y, const int64_t *y,
                         const char *text)
{
    core_call c;

    core_begin(&c, "add");
    core_tensor(&c, KILN_F32, rank_a, a);
    core_tensor(&c, KILN_F32, rank_b, b);
    core_tensor(&c, KILN_F32, rank_y, y);
    if (text != NULL) {
        core_refuse(&c, BAD, text);
    } else {
        pass(&c);
    }
}

static void test_broadcast(void **state)
{
    (void)state;
    expect_shape(DIMS(5, 1, 4), DIMS(3, 1), DIMS(5, 3, 4), NULL);
    expect_shape(SCALAR, DIMS(3, 1), DIMS(3, 1), NULL);
    expect_shape(SCALAR, SCALAR, SCALAR, NULL);
    expect_shape(SCALAR, DIMS(1), DIMS(1), NULL);
    expect_shape(DIMS(3), DIMS(4), DIMS(4),
                 "op add: tensor b: size 4 at dim -1 does not broadcast with "
                 "3");
    expect_shape(DIMS(2, 3), DIMS(4, 1), DIMS(4, 3),
                 "op add: tensor b: size 4 at dim -2 does not broadcast with "
                 "2");
    expect_shape(DIMS(2, 3), DIMS(3), DIMS(3, 2),
                 "op add: tensor y: shape [3, 2], expected [2, 3]");
    expect_shape(DIMS(2, 3), DIMS(3), DIMS(3),
                 "op add: tensor y: shape [3], expected [2, 3]");
    expect_shape(DIMS(3), DIMS(3), DIMS(1, 3),
                 "op add: tensor y: shape [1, 3], expected [3]");
    expect_shape(DIMS(3), DIMS(1), DIMS(1),
                 "op add: tensor y: shape [1], expected [3]");
    expect_shape(SCALAR, SCALAR, DIMS(1),
                 "op add: tensor y: shape [1], expected []");
    expect_shape(DIMS(1), SCALAR, SCALAR,
                 "op add: tensor y: shape [], expected [1]");
    expect_shape(DIMS(3), DIMS(0), DIMS(0),
                 "op add: tensor b: size 0 at dim -1 does not broadcast with "
                 "3");
    expect_shape(DIMS(1), DIMS(0), DIMS(0), NULL);
}

static void test_like(void **state)
{
    core_call c;
    int64_t longest[KILN_MAX_RANK] = {0};

    (void)state;
    begin_softmax(&c);
    c.size[1][1] = 5;
    core_refuse(&c, BAD, "op softmax: tensor y: shape [3, 5], expected [3, 4]");
    c.tensor[1].ndim = 0;
    core_refuse(&c, BAD, "op softmax: tensor y: shape [], expected [3, 4]");
    c.tensor[0].ndim = 0;
    pass(&c);
    c.tensor[1].ndim = 1;
    c.size[1][0] = 1;
    core_refuse(&c, BAD, "op softmax: tensor y: shape [1], expected []");
    c.tensor[0].ndim = 1;
    c.size[0][0] = 1;
    c.tensor[1].ndim = 0;
    core_refuse(&c, BAD, "op softmax: tensor y: shape [], expected [1]");
    /* The longest text of a shape; its product is 0. */
    for (int d = 1; d < KILN_MAX_RANK; d++) {
        longest[d] = INT64_MAX;
    }
    core_begin(&c, "softmax");
    core_strided(&c, KILN_F32, KILN_MAX_RANK, longest, longest);
    core_tensor(&c, KILN_F32, DIMS(3));
    core_refuse(&c, BAD,
                "op softmax: tensor y: shape [3], expected [0, "
                "9223372036854775807, 9223372036854775807, "
                "9223372036854775807, 9223372036854775807, "
                "9223372036854775807, 9223372036854775807, "
                "9223372036854775807]");
}

/* need: x [M, N], w [N] optional, y [M], s [] optional. */
static void test_expressions(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "need");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_tensor(&c, KILN_F32, DIMS(4));
    core_tensor(&c, KILN_F32, DIMS(3));
    core_tensor(&c, KILN_F32, SCALAR);
    core_int(&c, "k", 2);
    pass(&c);
    c.pointer[1] = c.pointer[3] = NULL;
    pass(&c);
    c.pointer[1] = &c.tensor[1];
    c.size[1][0] = 1; /* these do not broadcast */
    core_refuse(&c, BAD, "op need: tensor w: shape [1], expected [4]");
    c.size[1][0] = 4;
    c.tensor[2].ndim = 0;
    core_refuse(&c, BAD, "op need: tensor y: shape [], expected [3]");
    c.tensor[2].ndim = 1;
    c.pointer[3] = &c.tensor[3];
    c.tensor[3].ndim = 1;
    c.size[3][0] = 1;
    core_refuse(&c, BAD, "op need: tensor s: shape [1], expected []");
    c.pointer[3] = NULL;
    c.tensor[0].ndim = 1;
    core_refuse(&c, BAD,
                "op need: shape of w: size(x, 1): size: dim 1 must be -1 to 0, "
                "as the tensor has 1 dims");
}

/* update: x is broadcast to y, which is read and written: y is not. */
static void test_update(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "update");
    core_tensor(&c, KILN_F32, DIMS(4));
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    pass(&c);
    c.size[1][1] = 1;
    core_refuse(&c, BAD,
                "op update: tensor x: size 4 at dim -1 does not fit 1 of "
                "tensor y");
    c.size[1][1] = 5;
    core_refuse(&c, BAD,
                "op update: tensor x: size 4 at dim -1 does not fit 5 of "
                "tensor y");
}

/* quad's b has no shape of its own: it may be broadcast, no more. */
static void test_free_input(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "quad");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_tensor(&c, KILN_F32, DIMS(2));
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_refuse(&c, BAD,
                "op quad: tensor b: size 2 at dim -1 does not fit 4 of tensor "
                "y");
    c.size[1][0] = 0;
    core_refuse(&c, BAD,
                "op quad: tensor b: size 0 at dim -1 does not fit 4 of tensor "
                "y");
    c.size[1][0] = 1;
    pass(&c);
    c.size[1][0] = 4;
    pass(&c);
}

/* --- attributes ----------------------------------------------------------- */

static void refuse_attr(core_call *c, const char *text)
{
    core_refuse(c, BAD, text);
    c->request.n_attrs = 0;
}

static void test_attributes(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    core_int(&c, "beta", 1);
    refuse_attr(&c, "op add: no attribute \"beta\"; it has: alpha flip mode "
                    "shift");
    core_int(&c, NULL, 1);
    refuse_attr(&c, "op add: attribute 0 has no name");
    core_string(&c, "alpha", "x");
    refuse_attr(&c, "op add: attribute alpha: expects float, got string");
    core_bool(&c, "alpha", 1);
    refuse_attr(&c, "op add: attribute alpha: expects float, got bool");
    core_float(&c, "shift", 1);
    refuse_attr(&c, "op add: attribute shift: expects int, got float");
    core_bool(&c, "shift", 1);
    refuse_attr(&c, "op add: attribute shift: expects int, got bool");
    core_int(&c, "flip", 1);
    refuse_attr(&c, "op add: attribute flip: expects bool, got int");
    core_int(&c, "mode", 0);
    refuse_attr(&c, "op add: attribute mode: expects string, got int");
    core_int(&c, "shift", 0);
    c.attr[0].kind = (kiln_attr_kind)17;
    refuse_attr(&c, "op add: attribute shift: expects int, got ?");
    core_string(&c, "mode", "Tanh");
    refuse_attr(&c, "op add: attribute mode: \"Tanh\" is none of: none tanh "
                    "sigmoid");
    core_string(&c, "mode", NULL);
    refuse_attr(&c, "op add: attribute mode: \"(NULL)\" is none of: none tanh "
                    "sigmoid");
    core_int(&c, "shift", 1);
    core_int(&c, "shift", 1);
    refuse_attr(&c, "op add: attribute shift is given twice");
    core_begin(&c, "quad");
    core_tensor(&c, KILN_F32, DIMS(3));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(3));
    core_tensor(&c, KILN_F32, DIMS(3));
    core_int(&c, "x", 1);
    refuse_attr(&c, "op quad: no attribute \"x\"; it has: none");
    core_begin(&c, "need");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(3));
    core_absent(&c);
    refuse_attr(&c, "op need: attribute k (int) is required");
}

static void expect_key(core_call *c, const char *wanted)
{
    const kiln_program *program = core_succeed(c);
    char text[KILN_KEY_TEXT];

    assert_int_equal(program->n_nodes, 1);
    assert_string_equal(core_key_text(program->nodes[0].key, text, sizeof text),
                        wanted);
    core_end(c);
    c->request.n_attrs = 0;
}

/* Defaults and values of each kind reach the key; alpha does not. */
static void test_attribute_values(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    expect_key(&c, "add/map f32 flip=0 mode=tanh shift=-3 contiguous n=64");
    core_string(&c, "mode", "sigmoid");
    core_int(&c, "shift", -128);
    core_bool(&c, "flip", 7);
    core_float(&c, "alpha", -0.0);
    expect_key(&c, "add/map f32 flip=1 mode=sigmoid shift=-128 contiguous "
                   "n=64");
    core_int(&c, "alpha", INT64_MAX); /* an int for a float */
    core_int(&c, "shift", 127);
    expect_key(&c, "add/map f32 flip=0 mode=tanh shift=127 contiguous n=64");
    for (int i = 0; i < 4; i++) {
        core_int(&c, "shift", LIST(128, -129, INT64_MAX, INT64_MIN)[i]);
        refuse_attr(&c, "op add: the call has no key: a baked int is outside "
                        "-128 to 127, or the op has more choices, routes or "
                        "keyed tensors than keys hold");
    }
}

/* --- the dim of rows ------------------------------------------------------ */

static void test_dim(void **state)
{
    core_call c;
    char text[KILN_KEY_TEXT];

    (void)state;
    begin_softmax(&c);
    core_int(&c, "dim", -2);
    expect_key(&c, "softmax/single f32 log=0 general M=4 N=16");
    core_int(&c, "dim", 0);
    expect_key(&c, "softmax/single f32 log=0 general M=4 N=16");
    core_int(&c, "dim", 1);
    expect_key(&c, "softmax/single f32 log=0 contiguous M=4 N=16");
    core_int(&c, "dim", 2);
    core_refuse_with(&c, BAD, "op softmax: N: size(x, dim): size: dim 2 must");
    c.attr[0].value.i = -3;
    core_refuse_with(&c, BAD, "op softmax: N: size(x, dim): size: dim -3 must");
    c.attr[0].value.i = INT64_MIN;
    core_refuse_with(&c, BAD, "op softmax: N: size(x, dim): size: dim ");
    /* Rank 0 has dims 0 and -1, as for PyTorch's softmax. */
    c.tensor[0].ndim = c.tensor[1].ndim = 0;
    for (int64_t dim = -2; dim <= 1; dim++) {
        c.attr[0].value.i = dim;
        c.request.n_attrs = 1;
        if (dim == -1 || dim == 0) {
            assert_string_equal(core_key_text(core_succeed(&c)->nodes[0].key,
                                              text, sizeof text),
                                "softmax/single f32 log=0 contiguous M=4 N=16");
            core_end(&c);
        } else {
            core_refuse_with(&c, BAD, "op softmax: N: size(x, dim): size");
        }
    }
}

/* --- shared memory -------------------------------------------------------- */

#define AT(address) ((void *)(uintptr_t)(address))

static void test_internal_overlap(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    c.tensor[2].strides = (int64_t[]){0, 1};
    core_refuse(&c, BAD,
                "op add: tensor y: the written tensor has internal overlap");
    c.tensor[2].strides = (int64_t[]){3, 1};
    core_refuse(&c, BAD,
                "op add: tensor y: the written tensor has internal overlap");
    c.tensor[2].strides = (int64_t[]){1, 3};
    pass(&c);
    c.tensor[0].strides = (int64_t[]){3, 1}; /* inputs may */
    c.tensor[1].strides = (int64_t[]){0, 0};
    pass(&c);
    core_begin(&c, "update"); /* what is read and written may not */
    core_tensor(&c, KILN_F32, DIMS(4));
    core_strided(&c, KILN_F32, DIMS(3, 4), LIST(0, 1));
    core_refuse(&c, BAD,
                "op update: tensor y: the written tensor has internal "
                "overlap");
}

static void test_overlap(void **state)
{
    const char *partly = "op add: tensor y overlaps tensor a; only exactly "
                         "the same elements may be shared";
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32); /* 48 bytes each */
    c.tensor[0].data = AT(0x1000);
    c.tensor[1].data = AT(0x1000); /* inputs may share what they like */
    c.tensor[2].data = AT(0x1030);
    pass(&c);
    c.tensor[2].data = AT(0x0fd0);
    pass(&c);
    c.tensor[2].data = AT(0x102c);
    core_refuse(&c, BAD, partly);
    c.tensor[2].data = AT(0x0fd4);
    core_refuse(&c, BAD, partly);
    c.tensor[2].data = AT(0x1000); /* both inputs, exactly */
    pass(&c);
    c.tensor[2].data = AT(0x0ff0); /* by offset */
    c.tensor[2].byte_offset = 0x10;
    pass(&c);
    c.tensor[2].byte_offset = 0;
    c.tensor[2].data = AT(0x1000);
    c.tensor[0].strides = (int64_t[]){1, 3}; /* other elements at some places */
    core_refuse(&c, BAD, partly);
    c.tensor[2].strides = c.tensor[0].strides;
    c.tensor[1].data = AT(0x2000);
    pass(&c);
    c.tensor[0].data = NULL; /* unknown: disjoint */
    pass(&c);
    /* The same bytes read as another dtype are not the same elements. */
    begin_add(&c, KILN_F16, KILN_F32, KILN_F32);
    c.tensor[0].data = c.tensor[2].data = AT(0x1000);
    core_refuse(&c, BAD, partly);
    /* Between the rows of another tensor is no overlap. */
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    c.tensor[0].strides = c.tensor[2].strides = (int64_t[]){8, 1};
    c.tensor[0].data = AT(0x1000);
    c.tensor[2].data = AT(0x1010);
    pass(&c);
    c.tensor[2].data = AT(0x100c);
    core_refuse(&c, BAD, partly);
}

static void test_overlap_of_outputs(void **state)
{
    core_call c;

    (void)state;
    core_begin(&c, "quad"); /* not in place */
    for (int t = 0; t < 4; t++) {
        core_tensor(&c, KILN_F32, DIMS(4))->data = AT(0x1000 + 0x10 * t);
    }
    pass(&c);
    c.tensor[2].data = AT(0x1000);
    core_refuse(&c, BAD, "op quad: tensor y overlaps tensor a");
    c.tensor[2].data = AT(0x1034);
    core_refuse(&c, BAD, "op quad: tensor y overlaps tensor z");
    c.tensor[3].data = AT(0x1010);
    core_refuse(&c, BAD, "op quad: tensor z overlaps tensor b");
    c.pointer[1] = NULL;
    pass(&c);
    core_begin(&c, "update");
    core_tensor(&c, KILN_F32, DIMS(4))->data = AT(0x1000);
    core_tensor(&c, KILN_F32, DIMS(4))->data = AT(0x1000);
    core_refuse(&c, BAD, "op update: tensor y overlaps tensor x");
}

/* Far apart, and at the top of the address space. */
static void test_far_addresses(void **state)
{
    core_call c;

    (void)state;
    begin_add(&c, KILN_F32, KILN_F32, KILN_F32);
    c.tensor[0].data = AT(INT64_MAX - 63);
    c.tensor[2].data = AT(0x1000);
    pass(&c);
    c.tensor[2].data = AT(UINTPTR_MAX - 63); /* as many bytes fit behind it */
    c.tensor[0].data = AT(UINTPTR_MAX - 1023);
    pass(&c);
    c.tensor[0].data = AT(UINTPTR_MAX - 63 - 44);
    core_refuse_with(&c, BAD, "op add: tensor y overlaps tensor a");
}

/* --- nothing to do -------------------------------------------------------- */

/* An expression of need divides by k: with no output element none is run. */
static void test_zero_size(void **state)
{
    core_call c;
    const kiln_program *program;

    (void)state;
    core_begin(&c, "need");
    core_tensor(&c, KILN_F32, DIMS(3, 4));
    core_tensor(&c, KILN_F32, DIMS(9)); /* its shape is an expression, too */
    core_tensor(&c, KILN_F32, DIMS(0));
    core_absent(&c);
    core_int(&c, "k", 0);
    program = core_succeed(&c);
    assert_int_equal(program->n_nodes, 0);
    assert_int_equal(program->n_decisions, 0);
    assert_int_equal(program->n_buffers, 4);
    assert_int_equal(program->workspace, 0);
    assert_int_equal(program->bytes_read + program->bytes_written, 0);
    c.size[2][0] = 3;
    core_refuse(&c, BAD,
                "op need: q: 100 // k: // of 100 by 0: division by zero");
    /* Of two outputs one has elements. */
    core_begin(&c, "quad");
    core_tensor(&c, KILN_F32, DIMS(0, 4));
    core_absent(&c);
    core_tensor(&c, KILN_F32, DIMS(0, 4));
    core_tensor(&c, KILN_F32, DIMS(0, 4));
    c.request.workspace_limit = 1;
    c.request.tier = core_tier();
    pass(&c);
    c.size[3][0] = 1;
    core_refuse(&c, BAD, "op quad: tensor z: shape [1, 4], expected [0, 4]");
    /* What is wrong all the same stays refused. */
    begin_softmax(&c);
    c.size[0][0] = c.size[1][0] = 0;
    core_int(&c, "dim", 9);
    pass(&c);
    core_float(&c, "log", 9);
    core_refuse(&c, BAD, "op softmax: attribute log: expects bool, got float");
    /* Sizes whose product is 0, though the others' is past int64. */
    core_begin(&c, "softmax");
    core_strided(&c, KILN_F32, DIMS(INT64_MAX, 0, INT64_MAX),
                 LIST(INT64_MAX, 1, 1));
    core_strided(&c, KILN_F32, DIMS(INT64_MAX, 0, INT64_MAX),
                 LIST(INT64_MAX, 1, 1));
    pass(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presence),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_scalar_promotion),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_like),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_free_input),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_attribute_values),
        cmocka_unit_test(test_dim),
        cmocka_unit_test(test_internal_overlap),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_overlap_of_outputs),
        cmocka_unit_test(test_far_addresses),
        cmocka_unit_test(test_zero_size),
    };

    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
