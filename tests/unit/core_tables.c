#include "core_tables.h"

#include <assert.h>
#include <stdlib.h>

#include "core/expr.h"
#include "core/key.h"
#include "core/space.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

/* --- expressions: CODE("text", instructions) ------------------------------ */

#define CODE(words, ...)                                                       \
    {                                                                          \
        words, (const kiln_ins[]){__VA_ARGS__},                                \
            (int32_t)(sizeof((const kiln_ins[]){__VA_ARGS__}) /                \
                      sizeof(kiln_ins))                                        \
    }
#define ABSENT                                                                 \
    {                                                                          \
        "", NULL, 0                                                            \
    }
#define INS(op, argc, i)                                                       \
    {                                                                          \
        KILN_X_##op, argc, i, 0                                                \
    }
#define I(v) INS(INT, 0, v)
#define T(t) INS(TENSOR, 0, t)
#define A(a) INS(ATTR, 0, a)
#define L(n) INS(LET, 0, n)
#define V(n) INS(LOOP, 0, n)
#define X(op) INS(op, 0, 0)
#define C(op, argc) INS(op, argc, 0)

#define F16 (1u << KILN_F16)
#define F32 (1u << KILN_F32)
#define F64 (1u << KILN_F64)

/* --- ladders -------------------------------------------------------------- */

enum { ELEMENTS, ROWS, COLS };

static const int64_t element_edges[] = {64, 4096, 1 << 20, INT64_C(1) << 40};
static const int64_t element_census[] = {77};
static const int64_t row_edges[] = {4, 64, 1024, 32768};
static const int64_t row_census[] = {5, 100, 4000};
static const int64_t col_edges[] = {16, 64, 1024, 32768};
static const int64_t col_census[] = {50, 1000};
static const kiln_ladder ladders[] = {
    {"elements", element_edges, 4, element_census, 1},
    {"rows", row_edges, 4, row_census, 3},
    {"cols", col_edges, 4, col_census, 2},
};

/* --- add ------------------------------------------------------------------ */

static const char *const modes[] = {"none", "tanh", "sigmoid"};
static const kiln_op_tensor add_tensors[] = {
    {.name = "a", .keyed = 1, .dtypes = F16 | F32 | F64},
    {.name = "b", .keyed = 1, .like = 1, .dtypes = F32},
    {.name = "y",
     .role = KILN_OUT,
     .promote = 3,
     .shape_rule = KILN_SHAPE_BROADCAST},
};
/* ORDER: ADD_ALPHA ... in core_tables.h. */
static const kiln_op_attr add_attrs[] = {
    {.name = "alpha", .type = KILN_TYPE_FLOAT, .f = 1.5},
    {.name = "flip", .type = KILN_TYPE_BOOL, .baked = 1},
    {.name = "mode",
     .type = KILN_TYPE_STRING,
     .baked = 1,
     .i = 1,
     .choices = modes,
     .n_choices = 3},
    {.name = "shift", .type = KILN_TYPE_INT, .baked = 1, .i = -3},
};
static const kiln_route map_route[] = {{.name = "map", .when = ABSENT}};
static const kiln_axis add_axes[] = {
    {"n", ELEMENTS, CODE("numel(y)", T(2), X(NUMEL))}};
static const kiln_op add = {
    .name = "add",
    .spec = "spec/op/add.yaml",
    .tensors = add_tensors,
    .n_tensors = 3,
    .attrs = add_attrs,
    .n_attrs = 4,
    .routes = map_route,
    .n_routes = 1,
    .space = KILN_SPACE_BROADCAST,
    .row_dim = ABSENT,
    .in_place = 1,
    .axes = add_axes,
    .n_axes = 1,
    .flops = CODE("2 * numel(y)", I(2), T(2), X(NUMEL), X(MUL)),
};

/* --- quad and update ------------------------------------------------------ */

static const kiln_op_tensor quad_tensors[] = {
    {.name = "a", .dtypes = F32},
    {.name = "b", .optional = 1, .dtypes = F32},
    {.name = "y",
     .role = KILN_OUT,
     .dtypes = F32,
     .shape_rule = KILN_SHAPE_LIKE},
    {.name = "z",
     .role = KILN_OUT,
     .dtypes = F32,
     .shape_rule = KILN_SHAPE_LIKE},
};
static const kiln_axis quad_axes[] = {
    {"n", ELEMENTS, CODE("numel(a)", T(0), X(NUMEL))}};
static const kiln_op quad = {
    .name = "quad",
    .spec = "spec/op/quad.yaml",
    .tensors = quad_tensors,
    .n_tensors = 4,
    .routes = map_route,
    .n_routes = 1,
    .space = KILN_SPACE_BROADCAST,
    .row_dim = ABSENT,
    .axes = quad_axes,
    .n_axes = 1,
    .flops = ABSENT,
};

static const kiln_op_tensor update_tensors[] = {
    {.name = "x", .dtypes = F32},
    {.name = "y", .role = KILN_INOUT, .dtypes = F32},
};
static const kiln_op update = {
    .name = "update",
    .spec = "spec/op/update.yaml",
    .tensors = update_tensors,
    .n_tensors = 2,
    .routes = map_route,
    .n_routes = 1,
    .space = KILN_SPACE_BROADCAST,
    .row_dim = ABSENT,
    .axes = quad_axes,
    .n_axes = 1,
    .flops = ABSENT,
};

/* --- softmax -------------------------------------------------------------- */

static const kiln_op_tensor softmax_tensors[] = {
    {.name = "x", .keyed = 1, .dtypes = F16 | F32},
    {.name = "y",
     .role = KILN_OUT,
     .keyed = 1,
     .like = 1,
     .dtypes = F32,
     .shape_rule = KILN_SHAPE_LIKE},
};
static const kiln_op_attr softmax_attrs[] = {
    {.name = "dim", .type = KILN_TYPE_INT, .i = -1},
    {.name = "log", .type = KILN_TYPE_BOOL, .baked = 1},
};
static const kiln_let softmax_lets[] = {
    {"N", CODE("size(x, dim)", T(0), A(0), X(SIZE))},
    {"M", CODE("numel(x) // N", T(0), X(NUMEL), L(0), X(FLOORDIV))},
};
static const kiln_route softmax_routes[] = {
    {.name = "single", .when = CODE("N <= 64", L(0), I(64), X(LE))},
    {.name = "looped", .when = ABSENT},
};
static const kiln_axis softmax_axes[] = {{"M", ROWS, CODE("M", L(1))},
                                         {"N", COLS, CODE("N", L(0))}};
static const kiln_op softmax = {
    .name = "softmax",
    .spec = "spec/op/softmax.yaml",
    .tensors = softmax_tensors,
    .n_tensors = 2,
    .attrs = softmax_attrs,
    .n_attrs = 2,
    .lets = softmax_lets,
    .n_lets = 2,
    .routes = softmax_routes,
    .n_routes = 2,
    .space = KILN_SPACE_ROWS,
    .row_dim = CODE("dim", A(0)),
    .in_place = 1,
    .axes = softmax_axes,
    .n_axes = 2,
    .flops = CODE("5 * numel(x)", I(5), T(0), X(NUMEL), X(MUL)),
};

/* --- need ----------------------------------------------------------------- */

static const kiln_expr need_w_shape[] = {
    CODE("size(x, 1)", T(0), I(1), X(SIZE))};
static const kiln_expr need_y_shape[] = {
    CODE("size(x, 0)", T(0), I(0), X(SIZE))};
static const kiln_op_tensor need_tensors[] = {
    {.name = "x", .dtypes = F32},
    {.name = "w",
     .optional = 1,
     .dtypes = F32,
     .shape_rule = KILN_SHAPE_EXPRS,
     .shape = need_w_shape,
     .n_shape = 1},
    {.name = "y",
     .role = KILN_OUT,
     .dtypes = F32,
     .shape_rule = KILN_SHAPE_EXPRS,
     .shape = need_y_shape,
     .n_shape = 1},
    {.name = "s", /* a rank-0 output */
     .role = KILN_OUT,
     .optional = 1,
     .dtypes = F32,
     .shape_rule = KILN_SHAPE_EXPRS},
};
static const kiln_op_attr need_attrs[] = {
    {.name = "k", .type = KILN_TYPE_INT, .required = 1}};
static const kiln_let need_lets[] = {
    {"q", CODE("100 // k", I(100), A(0), X(FLOORDIV))}};
static const kiln_route need_routes[] = {
    {.name = "few", .when = CODE("q > 50", L(0), I(50), X(GT))},
    {.name = "many",
     .when = CODE("q > 5 and numel(x) > 0", L(0), I(5), X(GT), INS(AND, 0, 5),
                  T(0), X(NUMEL), I(0), X(GT), X(BOOLEAN))},
};
static const kiln_axis need_axes[] = {{"q", ROWS, CODE("q", L(0))}};
static const kiln_op need = {
    .name = "need",
    .spec = "spec/op/need.yaml",
    .tensors = need_tensors,
    .n_tensors = 4,
    .attrs = need_attrs,
    .n_attrs = 1,
    .lets = need_lets,
    .n_lets = 1,
    .routes = need_routes,
    .n_routes = 2,
    .space = KILN_SPACE_NONE,
    .row_dim = ABSENT,
    .axes = need_axes,
    .n_axes = 1,
    .flops = ABSENT,
};

/* --- chunked: x, y [M, N] and an optional bias [N] --------------------------
 *
 *   z = zeros [N]                                     (a zeroed temporary)
 *   for c in range(0, M, rows):
 *     t = softmax(slice(x, 0, c, min(c + rows, M)))   (a temporary [M, N])
 *   add(transpose(t), view(z, [N, 1])) into transpose(y)
 *   when present(bias): add(merge(y, 0, 1), 1 row of bias) into merge(y, 0, 1)
 */
static const kiln_op_tensor chunked_tensors[] = {
    {.name = "x", .dtypes = F32},
    {.name = "y", .role = KILN_OUT, .like = 1, .shape_rule = KILN_SHAPE_LIKE},
    {.name = "bias", .optional = 1, .dtypes = F32},
};
static const kiln_op_attr chunked_attrs[] = {
    {.name = "rows", .type = KILN_TYPE_INT, .i = 2}};
static const kiln_let chunked_lets[] = {
    {"M", CODE("size(x, 0)", T(0), I(0), X(SIZE))},
    {"N", CODE("size(x, 1)", T(0), I(1), X(SIZE))},
};
static const kiln_expr chunked_t_shape[] = {CODE("M", L(0)), CODE("N", L(1))};
static const kiln_expr chunked_z_shape[] = {CODE("N", L(1))};
static const kiln_temporary chunked_temporaries[] = {
    {"t", KILN_NONE, 0, 0, chunked_t_shape, 2}, /* tensor 3 */
    {"z", KILN_F32, 1, -1, chunked_z_shape, 1}, /* tensor 4 */
};
#define CHUNK(t)                                                               \
    CODE("slice(_, 0, c, min(c + rows, M))", T(t), I(0), V(0), V(0), A(0),     \
         X(ADD), L(0), C(MIN, 2), X(SLICE))
static const kiln_binding chunk_tensors[] = {{0, CHUNK(0)}, {1, CHUNK(3)}};
static const kiln_binding chunk_attrs[] = {
    {0, CODE("1", I(1))},
    {1, CODE("false", INS(BOOL, 0, 0))},
};
static const kiln_step chunk_body[] = {{.when = ABSENT,
                                        .op = "softmax",
                                        .tensors = chunk_tensors,
                                        .n_tensors = 2,
                                        .attrs = chunk_attrs,
                                        .n_attrs = 2}};
static const kiln_binding chunked_add[] = {
    {0, CODE("transpose(t)", T(3), C(TRANSPOSE, 1))},
    {1, CODE("view(z, [N, 1])", T(4), L(1), I(1), C(VIEW, 3))},
    {2, CODE("transpose(y)", T(1), C(TRANSPOSE, 1))},
};
static const kiln_binding chunked_bias[] = {
    {0, CODE("merge(y, 0, 1)", T(1), I(0), I(1), X(MERGE))},
    {1, CODE("expand(slice(bias, 0, 0, 1), [M * N])", T(2), I(0), I(0), I(1),
             X(SLICE), L(0), L(1), X(MUL), C(EXPAND, 2))},
    {2, CODE("merge(y, 0, 1)", T(1), I(0), I(1), X(MERGE))},
};
static const kiln_binding chunked_bias_attrs[] = {
    {ADD_MODE, CODE("none", I(0))}, {ADD_ALPHA, CODE("2", I(2))}};
static const kiln_step chunked_steps[] = {
    {.when = ABSENT,
     .op = "",
     .loop = 0,
     .start = CODE("0", I(0)),
     .stop = CODE("M", L(0)),
     .step = CODE("rows", A(0)),
     .body = chunk_body,
     .n_body = 1},
    {.when = ABSENT, .op = "add", .tensors = chunked_add, .n_tensors = 3},
    {.when = CODE("present(bias)", T(2), X(PRESENT)),
     .op = "add",
     .tensors = chunked_bias,
     .n_tensors = 3,
     .attrs = chunked_bias_attrs,
     .n_attrs = 2},
};
static const kiln_route chunked_routes[] = {{.name = "steps",
                                             .when = ABSENT,
                                             .composite = 1,
                                             .temporaries = chunked_temporaries,
                                             .n_temporaries = 2,
                                             .steps = chunked_steps,
                                             .n_steps = 3}};
static const kiln_op chunked = {
    .name = "chunked",
    .spec = "spec/op/chunked.yaml",
    .tensors = chunked_tensors,
    .n_tensors = 3,
    .attrs = chunked_attrs,
    .n_attrs = 1,
    .lets = chunked_lets,
    .n_lets = 2,
    .routes = chunked_routes,
    .n_routes = 1,
};

/* --- part: chunked on each of `parts` runs of rows -------------------------
 */

static const kiln_op_tensor part_tensors[] = {
    {.name = "x", .dtypes = F32},
    {.name = "y", .role = KILN_OUT, .like = 1, .shape_rule = KILN_SHAPE_LIKE},
};
static const kiln_op_attr part_attrs[] = {
    {.name = "parts", .type = KILN_TYPE_INT, .i = 2}};
static const kiln_let part_lets[] = {
    {"M", CODE("size(x, 0)", T(0), I(0), X(SIZE))}};
#define RUN(t)                                                                 \
    CODE("slice(_, 0, h * M // parts, (h + 1) * M // parts)", T(t), I(0),      \
         V(0), L(0), X(MUL), A(0), X(FLOORDIV), V(0), I(1), X(ADD), L(0),      \
         X(MUL), A(0), X(FLOORDIV), X(SLICE))
static const kiln_binding part_call[] = {{0, RUN(0)}, {1, RUN(1)}};
static const kiln_step part_body[] = {
    {.when = ABSENT, .op = "chunked", .tensors = part_call, .n_tensors = 2}};
static const kiln_step part_steps[] = {{.when = ABSENT,
                                        .op = "",
                                        .start = CODE("0", I(0)),
                                        .stop = CODE("parts", A(0)),
                                        .step = CODE("1", I(1)),
                                        .body = part_body,
                                        .n_body = 1}};
static const kiln_route part_routes[] = {{.name = "parts",
                                          .when = ABSENT,
                                          .composite = 1,
                                          .steps = part_steps,
                                          .n_steps = 1}};
static const kiln_op part_op = {
    .name = "part",
    .spec = "spec/op/part.yaml",
    .tensors = part_tensors,
    .n_tensors = 2,
    .attrs = part_attrs,
    .n_attrs = 1,
    .lets = part_lets,
    .n_lets = 1,
    .routes = part_routes,
    .n_routes = 1,
};

/* --- loop: copies of x to y, of the size of the loop variable where asked --
 */

static const kiln_op_attr loop_attrs[] = {
    {.name = "start", .type = KILN_TYPE_INT},
    {.name = "step", .type = KILN_TYPE_INT, .i = 1},
    {.name = "stop", .type = KILN_TYPE_INT, .required = 1},
};
static const kiln_temporary loop_temporaries[] = {
    {"t", KILN_F32, 0, -1, need_y_shape, 1}};
static const kiln_binding loop_call[] = {
    {0, CODE("x", T(0))}, {2, CODE("y", T(1))}, {3, CODE("t", T(2))}};
static const kiln_step loop_body[] = {
    {.when = CODE("stop < 100000", A(2), I(100000), X(LT)),
     .op = "quad",
     .tensors = loop_call,
     .n_tensors = 3}};
static const kiln_step loop_inner[] = {{.when = ABSENT,
                                        .op = "",
                                        .loop = 1,
                                        .start = CODE("0", I(0)),
                                        .stop = CODE("1", I(1)),
                                        .step = CODE("1", I(1)),
                                        .body = loop_body,
                                        .n_body = 1}};
static const kiln_step loop_steps[] = {{.when = ABSENT,
                                        .op = "",
                                        .start = CODE("start", A(0)),
                                        .stop = CODE("stop", A(2)),
                                        .step = CODE("step", A(1)),
                                        .body = loop_inner,
                                        .n_body = 1}};
static const kiln_route loop_routes[] = {{.name = "copies",
                                          .when = ABSENT,
                                          .composite = 1,
                                          .temporaries = loop_temporaries,
                                          .n_temporaries = 1,
                                          .steps = loop_steps,
                                          .n_steps = 1}};
static const kiln_op loop = {
    .name = "loop",
    .spec = "spec/op/loop.yaml",
    .tensors = part_tensors,
    .n_tensors = 2,
    .attrs = loop_attrs,
    .n_attrs = 3,
    .routes = loop_routes,
    .n_routes = 1,
};

/* --- recur ---------------------------------------------------------------- */

static const kiln_binding recur_call[] = {{0, CODE("x", T(0))},
                                          {1, CODE("y", T(1))}};
static const kiln_step recur_steps[] = {
    {.when = ABSENT, .op = "recur", .tensors = recur_call, .n_tensors = 2}};
static const kiln_route recur_routes[] = {{.name = "again",
                                           .when = ABSENT,
                                           .composite = 1,
                                           .steps = recur_steps,
                                           .n_steps = 1}};
static const kiln_op recur = {
    .name = "recur",
    .spec = "spec/op/recur.yaml",
    .tensors = part_tensors,
    .n_tensors = 2,
    .routes = recur_routes,
    .n_routes = 1,
};

/* --- misuse: x [4, 4] and y like it; each step when how == its index -------
 */

static const kiln_op_attr misuse_attrs[] = {
    {.name = "how", .type = KILN_TYPE_INT, .i = -1}};
static const kiln_expr misuse_u_shape[] = {CODE("8", I(8))};
/* -1 for how = -2, 2^61 for how = 11, 0 for those between. */
static const kiln_expr misuse_odd_shape[] = {
    CODE("odd(how)", I(0), A(0), I(10), X(SUB), C(MAX, 2), I(INT64_C(1) << 61),
         X(MUL), I(0), A(0), I(1), X(ADD), C(MIN, 2), X(ADD))};
static const kiln_temporary misuse_temporaries[] = {
    {"t", KILN_F32, 0, -1, misuse_u_shape, 1},     /* tensor 2 */
    {"u", KILN_F32, 0, -1, misuse_u_shape, 1},     /* 3 */
    {"odd", KILN_F32, 0, -1, misuse_odd_shape, 1}, /* 4 */
    {"none", KILN_F32, 1, -1, NULL, 0},            /* 5: rank 0, zeroed */
};
#define OCTET(t, from)                                                         \
    CODE("slice(_, 0, from, from + 4)", T(t), I(0), I(from), I((from) + 4),    \
         X(SLICE))
static const kiln_binding to_input[] = {
    {0, CODE("y", T(1))}, {2, CODE("x", T(0))}, {3, CODE("t", T(2))}};
static const kiln_binding overlapping[] = {
    {0, OCTET(2, 0)}, {2, OCTET(2, 2)}, {3, OCTET(3, 0)}};
static const kiln_binding pairs[] = {
    {0, OCTET(2, 0)}, {1, OCTET(3, 0)}, {2, OCTET(2, 4)}, {3, OCTET(3, 4)}};
static const kiln_binding no_view[] = {
    {0, CODE("view(x, [3, 5])", T(0), I(3), I(5), C(VIEW, 3))}};
static const kiln_binding no_tensor[] = {{0, CODE("3", I(3))}};
static const kiln_binding x_to_y[] = {{0, CODE("x", T(0))},
                                      {1, CODE("y", T(1))}};
static const kiln_binding dim_of_tensor[] = {{0, CODE("x", T(0))}};
static const kiln_binding dim_far[] = {{0, CODE("5", I(5))}};
static const kiln_binding scalars[] = {
    {0, CODE("none", T(5))},
    {1, CODE("view(slice(t, 0, 0, 1), [])", T(2), I(0), I(0), I(1), X(SLICE),
             C(VIEW, 1))}};
#define HOW(n) CODE("how == n", A(0), I(n), X(EQ))
static const kiln_step misuse_steps[] = {
    {.when = HOW(0), .op = "quad", .tensors = to_input, .n_tensors = 3},
    {.when = HOW(1), .op = "quad", .tensors = overlapping, .n_tensors = 3},
    {.when = HOW(2), .op = "quad", .tensors = pairs, .n_tensors = 4},
    {.when = HOW(3), .op = "quad", .tensors = no_view, .n_tensors = 1},
    {.when = HOW(4), .op = "quad", .tensors = no_tensor, .n_tensors = 1},
    {.when = HOW(5),
     .op = "softmax",
     .tensors = x_to_y,
     .n_tensors = 2,
     .attrs = dim_of_tensor,
     .n_attrs = 1},
    {.when = HOW(6),
     .op = "softmax",
     .tensors = x_to_y,
     .n_tensors = 2,
     .attrs = dim_far,
     .n_attrs = 1},
    {.when = HOW(7), .op = "gone", .tensors = x_to_y, .n_tensors = 2},
    {.when = HOW(9), .op = "softmax", .tensors = x_to_y, .n_tensors = 1},
    {.when = HOW(10), .op = "softmax", .tensors = scalars, .n_tensors = 2},
};
static const kiln_route misuse_routes[] = {{.name = "wrong",
                                            .when = ABSENT,
                                            .composite = 1,
                                            .temporaries = misuse_temporaries,
                                            .n_temporaries = 4,
                                            .steps = misuse_steps,
                                            .n_steps = COUNT(misuse_steps)}};
static const kiln_op misuse = {
    .name = "misuse",
    .spec = "spec/op/misuse.yaml",
    .tensors = part_tensors,
    .n_tensors = 2,
    .attrs = misuse_attrs,
    .n_attrs = 1,
    .routes = misuse_routes,
    .n_routes = 1,
};

/* --- the whole ------------------------------------------------------------ */

/* ORDER: OP_ADD ... in core_tables.h; sorted by name. */
static const kiln_op *const ops[] = {&add,     &chunked, &loop, &misuse,
                                     &need,    &part_op, &quad, &recur,
                                     &softmax, &update};
static const char *const arch_fields[] = {"width"};
static const int64_t width[] = {8};
static const kiln_arch archs[] = {
    {"aligned", "cpu", KILN_CLASS_ALIGN, width, 1, "", 0},
    {"classed", "cpu", KILN_CLASS_ALIGN | KILN_CLASS_WIDE, width, 1, "", 0},
    {"plain", "cpu", 0, width, 1, "", 0},
};
const kiln_arch *const core_aligned = &archs[0];
const kiln_arch *const core_classed = &archs[1];
const kiln_arch *const core_plain = &archs[2];

const kiln_tables core_tables = {
    .layout = KILN_TABLE_LAYOUT,
    .ladders = ladders,
    .n_ladders = COUNT(ladders),
    .arch_fields = arch_fields,
    .n_arch_fields = 1,
    .archs = archs,
    .n_archs = COUNT(archs),
    .ops = ops,
    .n_ops = COUNT(ops),
};

/* --- a tier --------------------------------------------------------------- */

#define PLACE(t)                                                               \
    {KILN_SLOT_DATA, t, ABSENT}, {KILN_SLOT_STRIDE, t, ABSENT},                \
    {                                                                          \
        KILN_SLOT_ROW_STRIDE, t, ABSENT                                        \
    }
#define WHERE                                                                  \
    {KILN_SLOT_RANK, 0, ABSENT}, {KILN_SLOT_SIZE, 0, ABSENT},                  \
    {                                                                          \
        KILN_SLOT_ROW_SIZE, 0, ABSENT                                          \
    }
static const kiln_slot add_slots[] = {
    WHERE,
    PLACE(0),
    PLACE(1),
    PLACE(2),
    {KILN_SLOT_FLOAT, 0, CODE("alpha", A(0))},
    {KILN_SLOT_INT, 0,
     CODE("numel(y) - lanes", T(2), X(NUMEL), INS(CONFIG, 0, 0), X(SUB))},
    {KILN_SLOT_DATA, 0, ABSENT}, /* once more: four pointers, three tensors */
};
static const kiln_slot quad_slots[] = {{KILN_SLOT_DATA, 0, ABSENT},
                                       {KILN_SLOT_DATA, 1, ABSENT},
                                       {KILN_SLOT_DATA, 2, ABSENT},
                                       {KILN_SLOT_DATA, 3, ABSENT}};
static const kiln_slot softmax_slots[] = {WHERE, PLACE(0), PLACE(1)};

/* Lets of a recipe end in rows and cols of the space. */
static const kiln_recipe add_recipe = {
    add_slots,
    COUNT(add_slots),
    CODE("rows * cols", L(0), L(1), X(MUL)),
    CODE("lanes * 4", INS(CONFIG, 0, 0), I(4), X(MUL)),
    ABSENT,
    ABSENT,
    ABSENT};
static const kiln_recipe quad_recipe = {
    quad_slots, 4, CODE("rows", L(0)), CODE("0", I(0)), ABSENT, ABSENT, ABSENT};
static const kiln_recipe update_recipe = {
    quad_slots, 2, CODE("rows", L(0)), CODE("0", I(0)), ABSENT, ABSENT, ABSENT};
static const kiln_recipe softmax_recipe = {
    softmax_slots,
    COUNT(softmax_slots),
    CODE("rows", L(2)),
    CODE("max(1, 100 // cols)", I(1), I(100), L(3), X(FLOORDIV), C(MAX, 2)),
    ABSENT,
    ABSENT,
    ABSENT};

static const int64_t lanes[] = {8, 16};
static const kiln_kernel add_kernels[] = {
    {"add_8", "lanes=8", &lanes[0], 1, &add_recipe, NULL, 0, NULL},
    {"add_16", "lanes=16", &lanes[1], 1, &add_recipe, NULL, 0, NULL},
};
static const kiln_kernel quad_kernels[] = {
    {"quad_8", "lanes=8", &lanes[0], 1, &quad_recipe, NULL, 0, NULL}};
static const kiln_kernel update_kernels[] = {
    {"update_8", "lanes=8", &lanes[0], 1, &update_recipe, NULL, 0, NULL}};
static const kiln_kernel softmax_kernels[] = {
    {"softmax_8", "lanes=8", &lanes[0], 1, &softmax_recipe, NULL, 0, NULL},
    {"softmax_16", "lanes=16", &lanes[1], 1, &softmax_recipe, NULL, 0, NULL},
    {"softmax_32", "lanes=32", &lanes[1], 1, &softmax_recipe, NULL, 0, NULL},
};

#define CENSUS(i) (KILN_CENSUS_BIT | (i))

static const kiln_cell_run element_runs[] = {
    {KILN_CELL1(0), 1, 0, 0, 0},
    {KILN_CELL1(2), 2, 0, KILN_CELL_FORCED, 0},
    {KILN_CELL1(3), 3, 0, KILN_CELL_STALE, 0},
};
/* Rows 5 and 100 and cols 50 have census cells of their own. */
static const kiln_cell_run softmax_runs[] = {
    {KILN_CELL2(0, 0), 1, 0, 0, 0},
    {KILN_CELL2(0, 1), 1, 0, 0, 0},
    {KILN_CELL2(CENSUS(0), 1), CENSUS(0), 1, 0, 0},
    {KILN_CELL2(1, 2), 1, 0, 0, 0},
    {KILN_CELL2(1, CENSUS(0)), 1, 2, 0, 0},
};

#define MAX_GROUPS 512

static kiln_group groups[MAX_GROUPS];
static char texts[MAX_GROUPS][KILN_KEY_TEXT];
static int n_groups;
static const uint16_t configs[] = {0, 1};

static kiln_op_keys keys[OP_COUNT];
static const kiln_op_keys *key_lists[OP_COUNT];
static const char *const devices[] = {"Some Processor"};
static const kiln_tier_table tier = {"cpu", "base",    devices,
                                     1,     key_lists, OP_COUNT};

static void add_group(kiln_key *key)
{
    kiln_group *group = &groups[n_groups];
    bool rows = key->op == &softmax;

    assert(n_groups < MAX_GROUPS);
    if (!kiln_group_pack(key, &group->packed)) {
        abort();
    }
    kiln_group_text(key, texts[n_groups], sizeof texts[0]);
    group->text = texts[n_groups];
    group->runs = rows ? softmax_runs : element_runs;
    group->n_runs = rows ? COUNT(softmax_runs) : COUNT(element_runs);
    group->configs = configs;
    group->n_configs = key->op == &add ? 2 : 1;
    n_groups++;
}

/* All layouts of a key; of add, with each mode. */
static void add_layouts(kiln_key *key)
{
    for (int layout = KILN_CONTIGUOUS; layout <= KILN_GENERAL; layout++) {
        key->layout = (uint8_t)layout;
        for (int mode = 0; mode < (key->op == &add ? 3 : 1); mode++) {
            key->baked[ADD_MODE] = key->op == &add ? mode : 0;
            add_group(key);
        }
    }
}

static void add_groups(const kiln_op *op)
{
    static const uint8_t dtypes[] = {KILN_F16, KILN_F32};

    for (int combo = 0; combo < 4; combo++) {
        kiln_key key = {.op = op};

        if (!op->tensors[0].keyed && combo > 0) {
            break;
        }
        key.dtypes[0] = dtypes[combo & 1];
        key.dtypes[1] = dtypes[combo >> 1];
        for (int route = 0; route < op->n_routes; route++) {
            key.route = route;
            key.baked[ADD_SHIFT] = op == &add ? -3 : 0;
            add_layouts(&key);
        }
    }
}

static int by_packed(const void *a, const void *b)
{
    uint64_t pa = ((const kiln_group *)a)->packed;
    uint64_t pb = ((const kiln_group *)b)->packed;

    return (pa > pb) - (pa < pb);
}

static void add_op(int number, const kiln_kernel *kernels, int32_t n_kernels)
{
    int first = n_groups;

    add_groups(core_tables.ops[number]);
    qsort(groups + first, (size_t)(n_groups - first), sizeof *groups,
          by_packed);
    keys[number] = (kiln_op_keys){core_tables.ops[number]->name, groups + first,
                                  n_groups - first, kernels, n_kernels};
    key_lists[number] = &keys[number];
}

const kiln_tier_table *core_tier(void)
{
    if (n_groups == 0) {
        add_op(OP_ADD, add_kernels, COUNT(add_kernels));
        add_op(OP_QUAD, quad_kernels, COUNT(quad_kernels));
        add_op(OP_SOFTMAX, softmax_kernels, COUNT(softmax_kernels));
        add_op(OP_UPDATE, update_kernels, COUNT(update_kernels));
    }
    return &tier;
}
