/* schema.h: the structs of runtime/core/tables.h as data, so that one loader
 * fills them from Lua and one emitter writes them as C. ORDER: tables.
 */
#ifndef KILN_GEN_SCHEMA_H
#define KILN_GEN_SCHEMA_H

#include <stddef.h>

typedef enum schema_kind {
    SCHEMA_STR = 1,
    SCHEMA_U8,
    SCHEMA_U16,
    SCHEMA_U32,
    SCHEMA_U64,
    SCHEMA_I32,
    SCHEMA_I64,
    SCHEMA_F64,
    SCHEMA_STRUCT, /* in place */
    SCHEMA_REF,    /* the address of an object, {ref = name, value = table}:
                      written as &name, loaded from value, else NULL */
    /* Pointer to const elements; the int32_t count follows in the struct. */
    SCHEMA_STRUCTS,
    SCHEMA_POINTERS, /* to structs */
    SCHEMA_STRS,
    SCHEMA_I64S,
    SCHEMA_U16S
} schema_kind;

struct schema_struct;

typedef struct schema_field {
    const char *name;
    schema_kind kind;
    size_t offset;
    size_t count_offset;            /* of lists */
    const struct schema_struct *of; /* of structs */
} schema_field;

typedef struct schema_struct {
    const char *name; /* the C type */
    size_t size;
    const schema_field *fields;
    size_t n_fields;
} schema_struct;

/* The root, kiln_tables; others are reached through it but for the launch
 * recipe, which kernels refer to by name. */
extern const schema_struct schema_tables;
extern const schema_struct schema_recipe;
extern const schema_struct schema_expr;

#endif /* KILN_GEN_SCHEMA_H */
