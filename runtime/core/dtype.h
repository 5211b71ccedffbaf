/* dtype.h: element types, their sizes, names and promotion.
 * ORDER: the values index bit masks in tables.h and are written to out/table.
 */
#ifndef KILN_CORE_DTYPE_H
#define KILN_CORE_DTYPE_H

#include <stdint.h>

#include "../dlpack.h"

typedef enum kiln_dtype {
    KILN_NONE = 0, /* an absent optional tensor */
    KILN_BOOL,
    KILN_U8,
    KILN_I8,
    KILN_I16,
    KILN_I32,
    KILN_I64,
    KILN_F16,
    KILN_BF16,
    KILN_F32,
    KILN_F64,
    KILN_DTYPE_COUNT
} kiln_dtype;

/* Bytes of one element; 0 for KILN_NONE. */
int64_t kiln_dtype_size(kiln_dtype dtype);
/* "f16"; "none" for KILN_NONE; "?" outside the enum. */
const char *kiln_dtype_name(kiln_dtype dtype);
/* The dtype of that name, or KILN_DTYPE_COUNT. */
kiln_dtype kiln_dtype_parse(const char *name, int length);
/* KILN_DTYPE_COUNT for a type or lane count that kiln does not know. */
kiln_dtype kiln_dtype_from_dlpack(DLDataType type);
DLDataType kiln_dtype_to_dlpack(kiln_dtype dtype);
/* torch.promote_types of two dtypes, e.g. (f16, bf16) gives f32. KILN_NONE
 * is neutral. */
kiln_dtype kiln_dtype_promote(kiln_dtype a, kiln_dtype b);

#endif /* KILN_CORE_DTYPE_H */
