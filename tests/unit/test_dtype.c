/* sources: runtime/core/dtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"

#define N 10

static const char *const NAMES[N] = {"bool", "u8",  "i8",   "i16", "i32",
                                     "i64",  "f16", "bf16", "f32", "f64"};

/* torch.promote_types of PyTorch 2.15.0, row and column in NAMES' order. */
static const char *const PROMOTED[N][N] = {
    {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32",
     "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

static kiln_dtype parse(const char *name)
{
    return kiln_dtype_parse(name, (int)strlen(name));
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        assert_int_equal(parse(NAMES[i]), i + 1);
        assert_string_equal(kiln_dtype_name((kiln_dtype)(i + 1)), NAMES[i]);
    }
    assert_string_equal(kiln_dtype_name(KILN_NONE), "none");
    assert_string_equal(kiln_dtype_name(KILN_DTYPE_COUNT), "?");
    assert_string_equal(kiln_dtype_name((kiln_dtype)255), "?");
    assert_int_equal(parse("none"), KILN_DTYPE_COUNT);
    assert_int_equal(parse("f3"), KILN_DTYPE_COUNT);
    assert_int_equal(parse("f322"), KILN_DTYPE_COUNT);
    assert_int_equal(parse(""), KILN_DTYPE_COUNT);
    assert_int_equal(kiln_dtype_parse("f32[4]", 3), KILN_F32);
    assert_int_equal(kiln_dtype_parse("f32", -1), KILN_DTYPE_COUNT);
}

static void test_sizes(void **state)
{
    static const int64_t sizes[N] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};

    (void)state;
    for (int i = 0; i < N; i++)
        assert_int_equal(kiln_dtype_size((kiln_dtype)(i + 1)), sizes[i]);
    assert_int_equal(kiln_dtype_size(KILN_NONE), 0);
    assert_int_equal(kiln_dtype_size((kiln_dtype)200), 0);
}

static void test_promotion(void **state)
{
    (void)state;
    for (int a = 0; a < N; a++) {
        for (int b = 0; b < N; b++) {
            kiln_dtype got =
                kiln_dtype_promote((kiln_dtype)(a + 1), (kiln_dtype)(b + 1));

            assert_string_equal(kiln_dtype_name(got), PROMOTED[a][b]);
        }
        assert_int_equal(kiln_dtype_promote(KILN_NONE, (kiln_dtype)(a + 1)),
                         a + 1);
        assert_int_equal(kiln_dtype_promote((kiln_dtype)(a + 1), KILN_NONE),
                         a + 1);
    }
}

/* Codes of the DLPack standard: int 0, uint 1, float 2, bfloat 4, bool 6. */
static void test_dlpack(void **state)
{
    static const DLDataType types[N] = {
        {6, 8, 1},  {1, 8, 1},  {0, 8, 1},  {0, 16, 1}, {0, 32, 1},
        {0, 64, 1}, {2, 16, 1}, {4, 16, 1}, {2, 32, 1}, {2, 64, 1}};
    DLDataType odd = {2, 32, 4};

    (void)state;
    for (int i = 0; i < N; i++) {
        DLDataType back = kiln_dtype_to_dlpack((kiln_dtype)(i + 1));

        assert_int_equal(kiln_dtype_from_dlpack(types[i]), i + 1);
        assert_int_equal(back.code, types[i].code);
        assert_int_equal(back.bits, types[i].bits);
        assert_int_equal(back.lanes, 1);
    }
    assert_int_equal(kiln_dtype_from_dlpack(odd), KILN_DTYPE_COUNT);
    odd = (DLDataType){1, 16, 1};
    assert_int_equal(kiln_dtype_from_dlpack(odd), KILN_DTYPE_COUNT);
    odd = (DLDataType){0, 0, 1};
    assert_int_equal(kiln_dtype_from_dlpack(odd), KILN_DTYPE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_promotion), cmocka_unit_test(test_dlpack)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
