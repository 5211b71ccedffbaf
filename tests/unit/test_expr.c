/* sources: runtime/core/expr.c runtime/core/expr_number.c
 * runtime/core/expr_call.c runtime/core/key.c runtime/core/space.c
 * runtime/core/view.c runtime/core/arith.c runtime/core/dtype.c */
/* Values below were computed by Python's integers and floats. See
 * expr_random.sh for the comparison at large. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/expr.h"

#define INT(v)                                                                 \
    {                                                                          \
        KILN_X_INT, 0, (v), 0                                                  \
    }
#define FLOAT(v)                                                               \
    {                                                                          \
        KILN_X_FLOAT, 0, 0, (v)                                                \
    }
#define BOOL(v)                                                                \
    {                                                                          \
        KILN_X_BOOL, 0, (v), 0                                                 \
    }
#define OP(name)                                                               \
    {                                                                          \
        KILN_X_##name, 0, 0, 0                                                 \
    }
#define CALL(name, argc)                                                       \
    {                                                                          \
        KILN_X_##name, (argc), 0, 0                                            \
    }
#define SLOT(name, i)                                                          \
    {                                                                          \
        KILN_X_##name, 0, (i), 0                                               \
    }

static const int64_t EDGES[] = {1, 64, 4096};
static const kiln_ladder LADDERS[] = {{"rows", EDGES, 3, NULL, 0}};
static const int64_t ARCH[] = {4096, 7};
static const kiln_value LETS[] = {
    {KILN_V_INT, 5, 0},         {KILN_V_FLOAT, 0, 2.5}, {KILN_V_BOOL, 2, 0},
    {KILN_V_TENSOR, 1, 0},      {KILN_V_NONE, 0, 0},    {KILN_V_TENSOR, 3, 0},
    {(kiln_value_kind)77, 0, 0}};
static const kiln_view TENSORS[] = {
    {KILN_F16, 3, 0, 0, {2, 3, 4}, {12, 4, 1}},
    {KILN_F32, 0, 1, 0, {0}, {0}},
    {KILN_NONE, 0, 2, 0, {0}, {0}},
};

static char why[256];

static kiln_scope make_scope(void)
{
    static kiln_tables tables;
    kiln_scope scope = {0};

    tables.ladders = LADDERS;
    tables.n_ladders = 1;
    scope.tables = &tables;
    scope.arch = ARCH;
    scope.n_arch = 2;
    scope.lets = LETS;
    scope.n_lets = 7;
    scope.tensors = TENSORS;
    scope.n_tensors = 3;
    return scope;
}

static bool run(const kiln_ins *code, int n, kiln_result *result)
{
    kiln_scope scope = make_scope();
    kiln_expr expr = {"", code, n};

    why[0] = '\0';
    return kiln_expr_run(&expr, &scope, result, why, sizeof why);
}

#define RUN(code, result)                                                      \
    run((code), (int)(sizeof(code) / sizeof *(code)), (result))

#define GIVES_INT(wanted, ...)                                                 \
    do {                                                                       \
        const kiln_ins code_[] = {__VA_ARGS__};                                \
        kiln_result r_;                                                        \
        assert_true(RUN(code_, &r_));                                          \
        assert_int_equal(r_.value.kind, KILN_V_INT);                           \
        assert_true(r_.value.i == (wanted));                                   \
    } while (0)

#define GIVES_BOOL(wanted, ...)                                                \
    do {                                                                       \
        const kiln_ins code_[] = {__VA_ARGS__};                                \
        kiln_result r_;                                                        \
        assert_true(RUN(code_, &r_));                                          \
        assert_int_equal(r_.value.kind, KILN_V_BOOL);                          \
        assert_true(r_.value.i == (wanted));                                   \
    } while (0)

#define GIVES_FLOAT(wanted, ...)                                               \
    do {                                                                       \
        const kiln_ins code_[] = {__VA_ARGS__};                                \
        kiln_result r_;                                                        \
        assert_true(RUN(code_, &r_));                                          \
        assert_int_equal(r_.value.kind, KILN_V_FLOAT);                         \
        assert_true(r_.value.f == (wanted));                                   \
    } while (0)

#define FAILS(message, ...)                                                    \
    do {                                                                       \
        const kiln_ins code_[] = {__VA_ARGS__};                                \
        kiln_result r_;                                                        \
        assert_false(RUN(code_, &r_));                                         \
        assert_string_equal(why, message);                                     \
    } while (0)

typedef struct division {
    kiln_opcode op;
    int64_t a, b, result;
} division;

static const division DIVISIONS[] = {
    {KILN_X_CDIV, -7, -3, 3},
    {KILN_X_CDIV, -7, 3, -2},
    {KILN_X_CDIV, -7, -1, 7},
    {KILN_X_CDIV, INT64_MAX, INT64_MAX, 1},
    {KILN_X_CDIV, INT64_C(4611686018427387904), INT64_MAX, 1},
    {KILN_X_CDIV, -INT64_MAX, -3, INT64_C(3074457345618258603)},
    {KILN_X_CDIV, INT64_MIN, 3, INT64_C(-3074457345618258602)},
    {KILN_X_FLOORDIV, -INT64_MAX, -1, INT64_MAX},
    {KILN_X_FLOORDIV, INT64_MIN, 3, INT64_C(-3074457345618258603)},
    {KILN_X_FLOORDIV, INT64_MIN, -3, INT64_C(3074457345618258602)},
    {KILN_X_FLOORDIV, 7, INT64_MIN, -1},
    {KILN_X_FLOORDIV, -1, -3, 0},
    {KILN_X_FLOORDIV, INT64_MIN, INT64_MIN, 1},
    {KILN_X_MOD, -7, INT64_MIN, -7},
    {KILN_X_MOD, 7, -1, 0},
    {KILN_X_MOD, -INT64_MAX, 3, 2},
    {KILN_X_MOD, INT64_C(4611686018427387904), INT64_MIN,
     INT64_C(-4611686018427387904)},
    {KILN_X_MOD, INT64_MIN, -1, 0},
    {KILN_X_MOD, 7, -3, -2},
};

static void test_division(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof DIVISIONS / sizeof *DIVISIONS; i++) {
        const division *d = &DIVISIONS[i];

        GIVES_INT(d->result, INT(d->a), INT(d->b), {(uint8_t)d->op, 2, 0, 0});
    }
    FAILS("-9223372036854775808 // -1 is outside int64", INT(INT64_MIN),
          INT(-1), OP(FLOORDIV));
    FAILS("cdiv(-9223372036854775808, -1) is outside int64", INT(INT64_MIN),
          INT(-1), CALL(CDIV, 2));
    FAILS("// of 7 by 0: division by zero", INT(7), INT(0), OP(FLOORDIV));
    FAILS("% of 7 by 0: division by zero", INT(7), INT(0), OP(MOD));
    FAILS("cdiv of 7 by 0: division by zero", INT(7), INT(0), CALL(CDIV, 2));
    FAILS("/ by 0: division by zero", FLOAT(7), FLOAT(-0.0), OP(DIV));
    FAILS("// needs integers, not a float", FLOAT(7), INT(2), OP(FLOORDIV));
    GIVES_FLOAT(3.5, INT(7), INT(2), OP(DIV));
}

static void test_overflow(void **state)
{
    (void)state;
    GIVES_INT(INT64_MAX, INT(INT64_MAX - 1), INT(1), OP(ADD));
    FAILS("9223372036854775807 + 1 is outside int64", INT(INT64_MAX), INT(1),
          OP(ADD));
    GIVES_INT(INT64_MIN, INT(-1), INT(INT64_MAX), OP(SUB));
    FAILS("-2 - 9223372036854775807 is outside int64", INT(-2), INT(INT64_MAX),
          OP(SUB));
    FAILS("4294967296 * 2147483648 is outside int64", INT(INT64_C(1) << 32),
          INT(INT64_C(1) << 31), OP(MUL));
    GIVES_INT(INT64_MIN, INT(INT64_C(1) << 32), INT(-(INT64_C(1) << 31)),
              OP(MUL));
    FAILS("-(-9223372036854775808) is outside int64", INT(INT64_MIN), OP(NEG));
    GIVES_INT(INT64_C(1) << 62, INT((INT64_C(1) << 61) + 1),
              CALL(NEXT_POW2, 1));
    FAILS("next_pow2(4611686018427387905) is outside int64",
          INT((INT64_C(1) << 62) + 1), CALL(NEXT_POW2, 1));
    FAILS("align(9223372036854775807, 2) is outside int64", INT(INT64_MAX),
          INT(2), CALL(ALIGN, 2));
    GIVES_INT(-4, INT(-7), INT(4), CALL(ALIGN, 2));
    GIVES_FLOAT(INFINITY, FLOAT(1e308), FLOAT(10), OP(MUL));
}

static void test_numbers(void **state)
{
    const int64_t big = (INT64_C(1) << 53) + 1; /* no double holds it */
    const double two53 = 9007199254740992.0, two63 = 9223372036854775808.0;

    (void)state;
    GIVES_BOOL(0, INT(big), FLOAT(two53), OP(EQ));
    GIVES_BOOL(1, INT(big), FLOAT(two53), OP(GT));
    GIVES_BOOL(1, FLOAT(two53), INT(big), OP(LT));
    GIVES_BOOL(1, INT(INT64_MAX), FLOAT(two63), OP(LT));
    GIVES_BOOL(1, INT(INT64_MIN), FLOAT(-two63), OP(EQ));
    GIVES_BOOL(1, INT(-1), FLOAT(-0.5), OP(LT));
    GIVES_BOOL(1, INT(0), FLOAT(-0.0), OP(EQ));
    GIVES_BOOL(0, INT(0), FLOAT(NAN), OP(LE));
    GIVES_BOOL(0, FLOAT(NAN), INT(0), OP(GE));
    GIVES_BOOL(1, FLOAT(NAN), FLOAT(NAN), OP(NE));
    GIVES_FLOAT(two53, INT(big), FLOAT(0), OP(ADD)); /* half to even */
    GIVES_BOOL(1, BOOL(1), BOOL(7), OP(EQ));
    FAILS("== needs two bools, not an int", BOOL(1), INT(1), OP(EQ));
    FAILS("< needs numbers, not a bool", BOOL(1), BOOL(1), OP(LT));
    FAILS("+ needs numbers, not a bool", INT(1), BOOL(1), OP(ADD));
    FAILS("not needs a bool, not an int", INT(1), OP(NOT));
    GIVES_INT(1, INT(1), FLOAT(1), CALL(MIN, 2));
    GIVES_FLOAT(1.0, FLOAT(1), INT(1), CALL(MAX, 2));
    GIVES_INT(3, INT(1), FLOAT(2.5), INT(3), CALL(MAX, 3));
    GIVES_INT(4, INT(9), INT(0), INT(4), CALL(CLAMP, 3));
    GIVES_FLOAT(0.5, INT(0), FLOAT(0.5), INT(4), CALL(CLAMP, 3));
    FAILS("clamp: its low end must be at most its high end", INT(0), INT(1),
          INT(0), CALL(CLAMP, 3));
    GIVES_INT(63, INT(INT64_MAX), CALL(POPCOUNT, 1));
    FAILS("popcount(-1): its argument must be at least 0", INT(-1),
          CALL(POPCOUNT, 1));
    FAILS("next_pow2(0): its argument must be at least 1", INT(0),
          CALL(NEXT_POW2, 1));
    FAILS("align(3, 0): the multiple must be above 0", INT(3), INT(0),
          CALL(ALIGN, 2));
}

static void test_bucket(void **state)
{
    (void)state;
    GIVES_INT(1, INT(1), CALL(BUCKET, 1));
    GIVES_INT(64, INT(2), CALL(BUCKET, 1));
    GIVES_INT(64, INT(64), CALL(BUCKET, 1));
    GIVES_INT(4096, INT(65), CALL(BUCKET, 1));
    GIVES_INT(4096, INT(4096), CALL(BUCKET, 1));
    FAILS("bucket(rows, 4097): the size must be 1 to 4096", INT(4097),
          CALL(BUCKET, 1));
    FAILS("bucket(rows, 0): the size must be 1 to 4096", INT(0),
          CALL(BUCKET, 1));
    FAILS("malformed code", INT(1), {KILN_X_BUCKET, 1, 1, 0});
    FAILS("malformed code", INT(1), {KILN_X_BUCKET, 1, -1, 0});
}

static void test_slots(void **state)
{
    (void)state;
    GIVES_INT(5, SLOT(LET, 0));
    GIVES_FLOAT(2.5, SLOT(LET, 1));
    GIVES_BOOL(1, SLOT(LET, 2));
    GIVES_INT(7, SLOT(ARCH, 1));
    FAILS("let 4 has no value here", SLOT(LET, 4));
    FAILS("let 5 has no value here", SLOT(LET, 5));
    FAILS("let 6 has no value here", SLOT(LET, 6));
    FAILS("let 7 has no value here", SLOT(LET, 7));
    FAILS("malformed code", SLOT(LET, -1));
    FAILS("arch field 2 has no value here", SLOT(ARCH, 2));
    FAILS("config field 0 has no value here", SLOT(CONFIG, 0));
    FAILS("attribute 0 has no value here", SLOT(ATTR, 0));
    FAILS("loop variable 0 has no value here", SLOT(LOOP, 0));
    FAILS("tensor 3 has no value here", SLOT(TENSOR, 3));
    FAILS("tensor 9223372036854775807 has no value here",
          SLOT(TENSOR, INT64_MAX));
}

static void test_tensors(void **state)
{
    (void)state;
    GIVES_INT(4, SLOT(TENSOR, 0), INT(-1), CALL(SIZE, 2));
    GIVES_INT(12, SLOT(TENSOR, 0), INT(0), CALL(STRIDE, 2));
    GIVES_INT(24, SLOT(TENSOR, 0), CALL(NUMEL, 1));
    GIVES_INT(3, SLOT(TENSOR, 0), CALL(RANK, 1));
    GIVES_INT(KILN_F16, SLOT(TENSOR, 0), CALL(DTYPE, 1));
    GIVES_INT(2, SLOT(TENSOR, 0), CALL(DTYPE_SIZE, 1));
    GIVES_INT(1, SLOT(LET, 3), INT(-1), CALL(SIZE, 2)); /* a scalar's dim */
    GIVES_INT(1, SLOT(LET, 3), CALL(NUMEL, 1));
    GIVES_BOOL(1, SLOT(TENSOR, 0), CALL(PRESENT, 1));
    GIVES_BOOL(0, SLOT(TENSOR, 2), CALL(PRESENT, 1));
    FAILS("numel: the tensor is absent", SLOT(TENSOR, 2), CALL(NUMEL, 1));
    FAILS("size: dim 3 must be -3 to 2, as the tensor has 3 dims",
          SLOT(TENSOR, 0), INT(3), CALL(SIZE, 2));
    FAILS("size: dim 1 must be -1 to 0, as the tensor has 0 dims",
          SLOT(TENSOR, 1), INT(1), CALL(SIZE, 2));
    FAILS("size needs a tensor, not an int", INT(0), INT(0), CALL(SIZE, 2));
    FAILS("size needs integers, not a float", SLOT(TENSOR, 0), FLOAT(0),
          CALL(SIZE, 2));
    FAILS("+ needs numbers, not a tensor", SLOT(TENSOR, 0), INT(1), OP(ADD));
}

static void test_views(void **state)
{
    const kiln_ins made[] = {SLOT(TENSOR, 0), CALL(TRANSPOSE, 1)};
    const kiln_ins absent[] = {SLOT(TENSOR, 2)};
    kiln_result result;

    (void)state;
    assert_true(RUN(made, &result));
    assert_int_equal(result.value.kind, KILN_V_TENSOR);
    assert_int_equal(result.value.i, -1);
    assert_int_equal(result.view.size[1], 4);
    assert_int_equal(result.view.stride[2], 4);
    assert_true(RUN(absent, &result)); /* an operand may pass one on */
    assert_int_equal(result.value.i, 2);
    assert_int_equal(result.view.dtype, KILN_NONE);
    GIVES_INT(24, SLOT(TENSOR, 0), INT(2), INT(-1), CALL(VIEW, 3), INT(0),
              INT(0), INT(1), CALL(SLICE, 4), INT(0), INT(1), CALL(MERGE, 3),
              CALL(NUMEL, 1), INT(12), OP(ADD));
    GIVES_INT(8, SLOT(TENSOR, 0), CALL(TRANSPOSE, 1), CALL(NUMEL, 1), INT(3),
              OP(FLOORDIV));
    GIVES_INT(7, SLOT(TENSOR, 0), CALL(TRANSPOSE, 1), INT(1), CALL(SIZE, 2),
              SLOT(TENSOR, 0), INT(0), INT(2), CALL(TRANSPOSE, 3), INT(1),
              CALL(SIZE, 2), OP(ADD));
    FAILS("transpose: an expression can hold only one view at a time",
          SLOT(TENSOR, 0), CALL(TRANSPOSE, 1), SLOT(TENSOR, 0),
          CALL(TRANSPOSE, 1), CALL(NUMEL, 1), CALL(SIZE, 2));
    FAILS("group: 2 parts of dim 1, whose size is 3", SLOT(TENSOR, 0), INT(2),
          CALL(GROUP, 2));
    FAILS("view: the tensor is absent", SLOT(TENSOR, 2), CALL(VIEW, 1));
    FAILS("view needs integers, not a bool", SLOT(TENSOR, 0), BOOL(1),
          CALL(VIEW, 2));
    FAILS("malformed code", SLOT(TENSOR, 0), INT(0), CALL(TRANSPOSE, 2));
    FAILS("malformed code", SLOT(TENSOR, 0), CALL(VIEW, 0));
}

static void test_jumps(void **state)
{
    (void)state;
    GIVES_INT(1, BOOL(1), SLOT(JUMP_FALSE, 2), INT(1), SLOT(JUMP, 1), INT(2));
    GIVES_INT(2, BOOL(0), SLOT(JUMP_FALSE, 2), INT(1), SLOT(JUMP, 1), INT(2));
    GIVES_BOOL(0, BOOL(0), SLOT(AND, 5), INT(1), INT(0), OP(FLOORDIV), OP(NOT),
               OP(BOOLEAN));
    GIVES_BOOL(1, BOOL(1), SLOT(OR, 2), INT(1), OP(BOOLEAN));
    FAILS("and/or needs a bool, not an int", BOOL(1), SLOT(AND, 2), INT(1),
          OP(BOOLEAN));
    FAILS("and needs a bool, not an int", INT(1), SLOT(AND, 2), BOOL(1),
          OP(BOOLEAN));
    FAILS("a condition needs a bool, not an int", INT(1), SLOT(JUMP_FALSE, 0),
          INT(1));
    FAILS("no arm of match holds", OP(FAIL));
    GIVES_INT(1, INT(1), SLOT(JUMP, 0));
    FAILS("malformed code", INT(1), SLOT(JUMP, 1));
    FAILS("malformed code", INT(1), SLOT(JUMP, -1));
    FAILS("malformed code", INT(1), SLOT(JUMP, INT64_MAX));
    FAILS("malformed code", INT(1), SLOT(JUMP, INT64_MIN));
}

static void test_malformed(void **state)
{
    kiln_ins deep[KILN_EXPR_STACK + 1];
    kiln_result result;

    (void)state;
    FAILS("malformed code", INT(1), INT(1));
    FAILS("malformed code", INT(1), OP(ADD));
    FAILS("malformed code", OP(NEG));
    FAILS("malformed code", CALL(MIN, 0));
    FAILS("malformed code", INT(1), CALL(MIN, 2));
    FAILS("malformed code", INT(1), CALL(MIN, 255));
    FAILS("malformed code", {0, 0, 0, 0});
    FAILS("malformed code", {KILN_X_COUNT, 0, 0, 0});
    FAILS("malformed code", {255, 0, 0, 0});
    assert_false(run(NULL, 0, &result));
    assert_false(run(deep, -1, &result));
    for (int i = 0; i <= KILN_EXPR_STACK; i++)
        deep[i] = (kiln_ins)INT(1);
    assert_false(run(deep, KILN_EXPR_STACK + 1, &result));
    deep[KILN_EXPR_STACK] = (kiln_ins)CALL(MAX, KILN_EXPR_STACK);
    assert_true(run(deep, KILN_EXPR_STACK + 1, &result));
}

static void test_kinds(void **state)
{
    const kiln_ins one[] = {INT(1)}, half[] = {FLOAT(0.5)}, yes[] = {BOOL(1)};
    const kiln_expr i = {"", one, 1}, f = {"", half, 1}, b = {"", yes, 1};
    kiln_scope scope = make_scope();
    int64_t integer;
    double number;
    bool truth;

    (void)state;
    assert_true(kiln_expr_int(&i, &scope, &integer, why, sizeof why));
    assert_int_equal(integer, 1);
    assert_true(kiln_expr_float(&i, &scope, &number, why, sizeof why));
    assert_true(number == 1.0);
    assert_true(kiln_expr_float(&f, &scope, &number, why, sizeof why));
    assert_true(number == 0.5);
    assert_true(kiln_expr_bool(&b, &scope, &truth, why, sizeof why));
    assert_true(truth);
    assert_false(kiln_expr_bool(&i, &scope, &truth, why, sizeof why));
    assert_string_equal(why, "the expression needs to give a bool, not an int");
    assert_false(kiln_expr_int(&f, &scope, &integer, why, 5));
    assert_string_equal(why, "the ");
    assert_false(kiln_expr_float(&b, &scope, &number, NULL, 0));
}

static void test_names(void **state)
{
    (void)state;
    for (int op = 1; op < KILN_X_COUNT; op++)
        assert_int_equal(kiln_opcode_parse(kiln_opcode_name(op)), op);
    assert_string_equal(kiln_opcode_name(KILN_X_FLOORDIV), "FLOORDIV");
    assert_int_equal(kiln_opcode_parse("NOP"), 0);
    assert_null(kiln_opcode_name(0));
    assert_null(kiln_opcode_name(KILN_X_COUNT));
}

/* xorshift64*, Vigna 2016. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* Any bytes are safe to run: under a sanitizer this shows it. */
static void test_any_code(void **state)
{
    kiln_ins code[12];
    uint64_t seed = 42;
    int ran = 0;

    (void)state;
    for (int round = 0; round < 300000; round++) {
        int n = (int)(next_random(&seed) % 12) + 1;
        kiln_result result;

        for (int i = 0; i < n; i++) {
            uint64_t bits = next_random(&seed);

            code[i].op = (uint8_t)((bits >> 8) % (KILN_X_COUNT + 2));
            if (bits % 3 != 0 || i < 2)
                code[i].op = (uint8_t)(bits >> 20 & 7) + 1;
            code[i].argc = (uint8_t)((bits >> 32) % 5);
            code[i].i = (int64_t)((bits >> 40) % 6) - 1;
            if (bits % 17 == 0)
                code[i].i = (int64_t)next_random(&seed);
            code[i].f = (double)(bits >> 48) - 1000;
        }
        ran += run(code, n, &result);
        if (!ran)
            assert_true(strlen(why) > 0);
    }
    assert_true(ran > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_division),  cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_bucket),
        cmocka_unit_test(test_slots),     cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_views),     cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_any_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
