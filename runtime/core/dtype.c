#include "dtype.h"

#include <string.h>

typedef struct dtype_info {
    const char *name;
    uint8_t code; /* DLDataTypeCode */
    uint8_t bits;
} dtype_info;

/* ORDER: kiln_dtype. */
static const dtype_info INFO[KILN_DTYPE_COUNT] = {
    {"none", 0, 0},        {"bool", kDLBool, 8},  {"u8", kDLUInt, 8},
    {"i8", kDLInt, 8},     {"i16", kDLInt, 16},   {"i32", kDLInt, 32},
    {"i64", kDLInt, 64},   {"f16", kDLFloat, 16}, {"bf16", kDLBfloat, 16},
    {"f32", kDLFloat, 32}, {"f64", kDLFloat, 64},
};

int64_t kiln_dtype_size(kiln_dtype dtype)
{
    return dtype < KILN_DTYPE_COUNT ? INFO[dtype].bits / 8 : 0;
}

const char *kiln_dtype_name(kiln_dtype dtype)
{
    return dtype < KILN_DTYPE_COUNT ? INFO[dtype].name : "?";
}

kiln_dtype kiln_dtype_parse(const char *name, int length)
{
    for (int i = KILN_BOOL; i < KILN_DTYPE_COUNT; i++) {
        if (length >= 0 && strlen(INFO[i].name) == (size_t)length &&
            memcmp(INFO[i].name, name, (size_t)length) == 0)
            return (kiln_dtype)i;
    }
    return KILN_DTYPE_COUNT;
}

kiln_dtype kiln_dtype_from_dlpack(DLDataType type)
{
    for (int i = KILN_BOOL; i < KILN_DTYPE_COUNT; i++) {
        if (type.lanes == 1 && type.code == INFO[i].code &&
            type.bits == INFO[i].bits)
            return (kiln_dtype)i;
    }
    return KILN_DTYPE_COUNT;
}

DLDataType kiln_dtype_to_dlpack(kiln_dtype dtype)
{
    DLDataType type = {0, 0, 1};

    if (dtype < KILN_DTYPE_COUNT) {
        type.code = INFO[dtype].code;
        type.bits = INFO[dtype].bits;
    }
    return type;
}

/* The enum ascends so that the greater of two dtypes is their promotion, but
 * for two pairs of which neither holds the other's values. */
kiln_dtype kiln_dtype_promote(kiln_dtype a, kiln_dtype b)
{
    kiln_dtype low = a < b ? a : b;
    kiln_dtype high = a < b ? b : a;

    if (low == KILN_U8 && high == KILN_I8)
        return KILN_I16;
    if (low == KILN_F16 && high == KILN_BF16)
        return KILN_F32;
    return high;
}
