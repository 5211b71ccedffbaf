/* refusals_list.c: what is wrong with each call, and what the text must say. */
#include "refusals.h"

static DLTensor *tensor(setting *s, int i)
{
    return &s->trial.call.tensors[i].tensor;
}

/* --- what is wrong -------------------------------------------------------- */

static void no_tensor_0(setting *s)
{
    s->trial.call.list[0] = NULL;
}

static void no_output(setting *s)
{
    s->trial.call.list[s->trial.call.n_tensors - 1] = NULL;
}

static void no_op(setting *s)
{
    s->trial.call.op = NULL;
}

static void no_shape(setting *s)
{
    tensor(s, 0)->shape = NULL;
}

static void no_data_0(setting *s)
{
    tensor(s, 0)->data = NULL;
}

static void no_data_out(setting *s)
{
    trial_output(&s->trial)->data = NULL;
}

static void no_data(setting *s)
{
    for (int i = 0; i < s->trial.call.n_tensors; i++) {
        tensor(s, i)->data = NULL;
    }
}

static void no_tensors(setting *s)
{
    s->trial.call.n_tensors = 0;
}

static void one_tensor(setting *s)
{
    s->trial.call.n_tensors = 1;
}

static void a_tensor_more(setting *s)
{
    s->trial.call.list[s->trial.call.n_tensors++] = s->trial.call.list[0];
}

static void dtype_code(setting *s)
{
    tensor(s, 0)->dtype.code = 77;
}

static void dtype_bits(setting *s)
{
    tensor(s, 0)->dtype.bits = 12;
}

static void dtype_lanes(setting *s)
{
    tensor(s, 0)->dtype.lanes = 4;
}

static void dtype_no_lanes(setting *s)
{
    tensor(s, 0)->dtype.lanes = 0;
}

static void dtype_complex(setting *s)
{
    tensor(s, 0)->dtype = (DLDataType){kDLComplex, 64, 1};
}

static void rank_negative(setting *s)
{
    tensor(s, 0)->ndim = -1;
}

static void rank_most(setting *s)
{
    tensor(s, 0)->ndim = INT32_MAX;
}

static void size_negative(setting *s)
{
    s->trial.call.tensors[0].shape[1] = -1;
}

static void size_least(setting *s)
{
    s->trial.call.tensors[0].shape[1] = INT64_MIN;
}

/* All tensors are that large, without memory; row-major where strides are
 * NULL. */
static void all_large(setting *s, int64_t a, int64_t b)
{
    for (int i = 0; i < s->trial.call.n_tensors; i++) {
        call_tensor *t = &s->trial.call.tensors[i];
        t->shape[0] = a;
        t->shape[1] = b;
        t->tensor.strides = NULL;
        t->tensor.data = NULL;
    }
}

static void elements_overflow(setting *s)
{
    all_large(s, INT64_C(1) << 32, INT64_C(1) << 32);
}

static void elements_most(setting *s)
{
    all_large(s, INT64_MAX, 3);
}

static void bytes_overflow(setting *s)
{
    all_large(s, INT64_C(1) << 31, INT64_C(1) << 31);
}

static void elements_overflow_but_empty(setting *s)
{
    all_large(s, INT64_MAX, 0);
}

static void stride_overflow(setting *s)
{
    s->trial.call.tensors[0].strides[0] = INT64_MAX / 2;
}

static void stride_least(setting *s)
{
    s->trial.call.tensors[0].strides[0] = INT64_MIN;
}

static void offset_large(setting *s)
{
    tensor(s, 0)->byte_offset = UINT64_MAX;
}

static void offset_odd(setting *s)
{
    tensor(s, 0)->byte_offset = 2;
}

static void address_odd_0(setting *s)
{
    tensor(s, 0)->data = (char *)tensor(s, 0)->data + 1;
}

static void address_odd_out(setting *s)
{
    DLTensor *y = trial_output(&s->trial);
    y->data = (char *)y->data + 2;
}

static void overlap_by_one(setting *s)
{
    trial_output(&s->trial)->data = (char *)tensor(s, 0)->data + 4;
}

static void overlap_by_strides(setting *s)
{
    trial_output(&s->trial)->data = tensor(s, 0)->data;
    s->trial.call.tensors[1].strides[0] = 1;
    s->trial.call.tensors[1].strides[1] = 4;
}

static void alias(setting *s)
{
    trial_output(&s->trial)->data = tensor(s, 0)->data;
}

static void device_other(setting *s)
{
    tensor(s, 0)->device.device_id = 1;
}

static void device_cuda(setting *s)
{
    tensor(s, 0)->device.device_type = kDLCUDA;
}

static void add_attr(setting *s, kiln_attr attr)
{
    s->attrs[s->n_attrs++] = attr;
}

static void attr_unknown(setting *s)
{
    add_attr(s, (kiln_attr){"beta", KILN_ATTR_FLOAT, {.f = 1}});
}

static void attr_nameless(setting *s)
{
    add_attr(s, (kiln_attr){NULL, KILN_ATTR_FLOAT, {.f = 1}});
}

static void attr_twice(setting *s)
{
    add_attr(s, (kiln_attr){"alpha", KILN_ATTR_FLOAT, {.f = 1}});
    add_attr(s, (kiln_attr){"alpha", KILN_ATTR_FLOAT, {.f = 1}});
}

static void attr_text(setting *s)
{
    add_attr(s, (kiln_attr){"alpha", KILN_ATTR_STRING, {.s = "1"}});
}

static void attr_kind(setting *s)
{
    add_attr(s, (kiln_attr){"alpha", (kiln_attr_kind)99, {.f = 1}});
}

static void choice_unknown(setting *s)
{
    add_attr(s, (kiln_attr){"approximate", KILN_ATTR_STRING, {.s = "tan"}});
}

static void choice_null(setting *s)
{
    add_attr(s, (kiln_attr){"approximate", KILN_ATTR_STRING, {.s = NULL}});
}

static void dim_2(setting *s)
{
    add_attr(s, (kiln_attr){"dim", KILN_ATTR_INT, {.i = 2}});
}

static void dim_least(setting *s)
{
    add_attr(s, (kiln_attr){"dim", KILN_ATTR_INT, {.i = INT64_MIN}});
}

static void dim_float(setting *s)
{
    add_attr(s, (kiln_attr){"dim", KILN_ATTR_FLOAT, {.f = 1}});
}

#define BAD KILN_INVALID_ARGUMENT
#define RELU "relu x=f32[4,6] y=f32[4,6]"
#define ADD "add a=f32[4,6] b=f32[4,6] y=f32[4,6]"
#define GELU "gelu x=f32[4,6] y=f32[4,6]"
#define SOFTMAX "softmax x=f32[4,6] y=f32[4,6]"

const refusal refusals[] = {
    {"a right call", RELU, NULL, KILN_OK, {NULL}},
    /* NULLs and counts */
    {"op NULL", RELU, no_op, BAD, {"op is NULL"}},
    {"an input NULL",
     RELU,
     no_tensor_0,
     BAD,
     {"op relu: tensor x: is required"}},
    {"the output NULL",
     RELU,
     no_output,
     BAD,
     {"op relu: tensor y: is required"}},
    {"shape NULL", RELU, no_shape, BAD, {"op relu: tensor x: shape is NULL"}},
    {"an input's data NULL",
     RELU,
     no_data_0,
     BAD,
     {"op relu: tensor x: data is NULL"}},
    {"the output's data NULL",
     RELU,
     no_data_out,
     BAD,
     {"op relu: tensor y: data is NULL"}},
    {"no tensors", RELU, no_tensors, BAD, {"op relu", "2"}},
    {"a tensor too few", RELU, one_tensor, BAD, {"op relu", "2"}},
    {"a tensor too many", RELU, a_tensor_more, BAD, {"op relu", "2"}},
    {"an unknown op", "relux x=f32[4] y=f32[4]", NULL, BAD, {"relux"}},
    {"an op of no name", "\"\" x=f32[4] y=f32[4]", NULL, BAD, {"op"}},
    /* dtypes */
    {"i32",
     "relu x=i32[4] y=i32[4]",
     NULL,
     BAD,
     {"op relu: tensor x: dtype i32 is none of", "f16", "f64"}},
    {"an output of another dtype",
     "relu x=f32[4] y=f16[4]",
     NULL,
     BAD,
     {"op relu: tensor y: dtype f16 is none of", "f32 (that of x)"}},
    {"no promotion",
     "add a=f16[4] b=f32[4] y=f16[4]",
     NULL,
     BAD,
     {"op add: tensor y: dtype f16", "f32 (the inputs' promotion)"}},
    {"an unknown code",
     RELU,
     dtype_code,
     BAD,
     {"op relu: tensor x: unknown dtype"}},
    {"12 bits", RELU, dtype_bits, BAD, {"op relu: tensor x: unknown dtype"}},
    {"4 lanes", RELU, dtype_lanes, BAD, {"op relu: tensor x: unknown dtype"}},
    {"0 lanes",
     RELU,
     dtype_no_lanes,
     BAD,
     {"op relu: tensor x: unknown dtype"}},
    {"complex", RELU, dtype_complex, BAD, {"op relu: tensor x: unknown dtype"}},
    /* ranks, shapes, sizes */
    {"rank 8",
     "relu x=f32[1,2,1,2,1,2,1,2] y=f32[1,2,1,2,1,2,1,2]",
     NULL,
     KILN_OK,
     {NULL}},
    {"rank 9",
     "relu x=f32[1,1,1,1,1,1,1,1,4] y=f32[1,1,1,1,1,1,1,1,4]",
     NULL,
     BAD,
     {"op relu: tensor x: rank is not 0 to 8"}},
    {"a negative rank",
     RELU,
     rank_negative,
     BAD,
     {"op relu: tensor x: rank is not 0 to 8"}},
    {"the largest rank",
     RELU,
     rank_most,
     BAD,
     {"op relu: tensor x: rank is not 0 to 8"}},
    {"an output of another shape",
     "relu x=f32[4,6] y=f32[6,4]",
     NULL,
     BAD,
     {"op relu: tensor y: shape [6, 4], expected [4, 6]"}},
    {"an output of another rank",
     "relu x=f32[4,6] y=f32[24]",
     NULL,
     BAD,
     {"op relu: tensor y: shape [24], expected [4, 6]"}},
    {"a scalar of a wider dtype",
     "mul a=f16[4] b=f32[] y=f32[4]",
     NULL,
     BAD,
     {"op mul: tensor y: a rank-0 operand of a higher dtype", "cast it first"}},
    {"a scalar of a narrower dtype",
     "mul a=f64[4] b=f32[] y=f64[4]",
     NULL,
     KILN_OK,
     {NULL}},
    {"shapes that do not broadcast",
     "add a=f32[4,6] b=f32[4,5] y=f32[4,6]",
     NULL,
     BAD,
     {"op add", "6", "5"}},
    {"an output short of the broadcast",
     "add a=f32[4,6] b=f32[4,6] y=f32[1,6]",
     NULL,
     BAD,
     {"op add: tensor y: shape [1, 6], expected [4, 6]"}},
    {"a negative size",
     RELU,
     size_negative,
     BAD,
     {"op relu: tensor x: negative size"}},
    {"the least size",
     RELU,
     size_least,
     BAD,
     {"op relu: tensor x: negative size"}},
    {"2^64 elements",
     RELU,
     elements_overflow,
     BAD,
     {"op relu: tensor x: element count overflows int64"}},
    {"2^63 times 3 elements",
     RELU,
     elements_most,
     BAD,
     {"op relu: tensor x: element count overflows int64"}},
    {"2^64 bytes",
     RELU,
     bytes_overflow,
     BAD,
     {"op relu: tensor x: byte extent overflows int64"}},
    {"2^63 times 0 elements",
     RELU,
     elements_overflow_but_empty,
     KILN_OK,
     {NULL}},
    /* strides, offsets, addresses */
    {"a negative stride",
     "relu x=f32[4,6]:[6,-1]+5 y=f32[4,6]",
     NULL,
     BAD,
     {"op relu: tensor x: negative strides are not supported"}},
    {"a negative stride of the output",
     "relu x=f32[4,6] y=f32[4,6]:[-6,1]+18",
     NULL,
     BAD,
     {"op relu: tensor y: negative strides are not supported"}},
    {"the least stride",
     RELU,
     stride_least,
     BAD,
     {"op relu: tensor x: negative strides are not supported"}},
    {"a stride of 0 of an input",
     "relu x=f32[4,6]:[0,1] y=f32[4,6]",
     NULL,
     KILN_OK,
     {NULL}},
    {"strides of 0 of an input",
     "softmax x=f32[4,6]:[0,0] y=f32[4,6]",
     NULL,
     KILN_OK,
     {NULL}},
    {"a stride of 0 of the output",
     "relu x=f32[4,6] y=f32[4,6]:[0,1]",
     NULL,
     BAD,
     {"op relu: tensor y: the written tensor has internal overlap"}},
    {"windows of the output overlap",
     "relu x=f32[4,6] y=f32[4,6]:[5,1]",
     NULL,
     BAD,
     {"op relu: tensor y: the written tensor has internal overlap"}},
    {"a stride of 0 where the size is 1",
     "relu x=f32[1,6] y=f32[1,6]:[0,1]",
     NULL,
     KILN_OK,
     {NULL}},
    {"strides past int64",
     RELU,
     stride_overflow,
     BAD,
     {"op relu: tensor x: byte extent overflows int64"}},
    {"an offset past int64",
     RELU,
     offset_large,
     BAD,
     {"op relu: tensor x: byte_offset is too large"}},
    {"an offset within an element",
     RELU,
     offset_odd,
     BAD,
     {"op relu: tensor x: data is not aligned to its element size"}},
    {"an odd address",
     RELU,
     address_odd_0,
     BAD,
     {"op relu: tensor x: data is not aligned to its element size"}},
    {"an output at half an element",
     RELU,
     address_odd_out,
     BAD,
     {"op relu: tensor y: data is not aligned to its element size"}},
    {"an odd address of halves",
     "relu x=f16[9] y=f16[9]",
     address_odd_0,
     BAD,
     {"op relu: tensor x: data is not aligned to its element size"}},
    /* overlap */
    {"exactly in place", RELU, alias, KILN_OK, {NULL}},
    {"softmax exactly in place", SOFTMAX, alias, KILN_OK, {NULL}},
    {"an output one element on",
     RELU,
     overlap_by_one,
     BAD,
     {"op relu: tensor y overlaps tensor x",
      "only exactly the same elements may be shared"}},
    {"softmax one element on",
     SOFTMAX,
     overlap_by_one,
     BAD,
     {"op softmax: tensor y overlaps tensor x"}},
    {"in place, transposed",
     RELU,
     overlap_by_strides,
     BAD,
     {"op relu: tensor y overlaps tensor x"}},
    {"in place of another dtype",
     "copy x=f32[8] y=f16[8]",
     alias,
     BAD,
     {"op copy: tensor y overlaps tensor x"}},
    /* devices */
    {"another device",
     RELU,
     device_other,
     BAD,
     {"op relu: tensor x: on device 1:1, the context is on 1:0"}},
    {"a tensor of a GPU",
     RELU,
     device_cuda,
     BAD,
     {"op relu: tensor x: on device 2:0, the context is on 1:0"}},
    /* attributes */
    {"an unknown attribute",
     ADD,
     attr_unknown,
     BAD,
     {"op add: no attribute \"beta\"; it has: alpha"}},
    {"an attribute of no name", ADD, attr_nameless, BAD, {"attribute 0"}},
    {"an attribute twice",
     ADD,
     attr_twice,
     BAD,
     {"op add: attribute alpha is given twice"}},
    {"a text for a float",
     ADD,
     attr_text,
     BAD,
     {"op add: attribute alpha: expects float, got string"}},
    {"an unknown kind",
     ADD,
     attr_kind,
     BAD,
     {"op add: attribute alpha: expects float, got ?"}},
    {"an unknown choice",
     GELU,
     choice_unknown,
     BAD,
     {"op gelu: attribute approximate: \"tan\" is none of: none tanh"}},
    {"a choice NULL",
     GELU,
     choice_null,
     BAD,
     {"op gelu: attribute approximate", "none tanh"}},
    {"a dim past the rank", SOFTMAX, dim_2, BAD, {"op softmax", "dim 2"}},
    {"the least dim",
     SOFTMAX,
     dim_least,
     BAD,
     {"op softmax", "-9223372036854775808"}},
    {"a float for an int",
     SOFTMAX,
     dim_float,
     BAD,
     {"op softmax: attribute dim: expects int, got float"}},
    /* nothing to do */
    {"no elements", "relu x=f32[4,0] y=f32[4,0]", NULL, KILN_OK, {NULL}},
    {"no elements, no data",
     "softmax x=f32[0,6] y=f32[0,6]",
     no_data,
     KILN_OK,
     {NULL}},
    {"no elements along dim",
     "softmax x=f32[6,0] y=f32[6,0]",
     no_data,
     KILN_OK,
     {NULL}},
    {"no elements by steps",
     "log_softmax x=f16[0] y=f16[0]",
     no_data,
     KILN_OK,
     {NULL}},
    {"no elements by broadcasting",
     "add a=f32[0,1] b=f32[1,6] y=f32[0,6]",
     no_data,
     KILN_OK,
     {NULL}},
    {"no elements, another shape",
     "relu x=f32[0,4] y=f32[4,0]",
     NULL,
     BAD,
     {"op relu: tensor y: shape [4, 0], expected [0, 4]"}},
    /* past the lattice */
    {"past the largest bucket",
     "relu x=f32[67108865] y=f32[67108865]",
     NULL,
     KILN_UNCERTIFIED,
     {"relu/map f32 contiguous n=134217728", "nearest certified",
      "make certify TIER=cpu OPS=relu"}},
    {"columns past the largest",
     "softmax x=f16[1,262145] y=f16[1,262145]",
     NULL,
     KILN_UNCERTIFIED,
     {"softmax/looped f16 log=0 contiguous M=64 N=>262145", "nearest certified",
      "make certify TIER=cpu OPS=softmax"}},
};
const int n_refusals = sizeof refusals / sizeof *refusals;
