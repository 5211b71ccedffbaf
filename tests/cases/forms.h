/* forms.h: how each op of spec/op is called, and calls of random tensors. */
#ifndef KILN_TESTS_FORMS_H
#define KILN_TESTS_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#define FORMS_INPUTS 3
#define FORMS_TENSORS (FORMS_INPUTS + 1)
#define FORMS_ATTRS 8

typedef enum form_kind {
    FORM_MAP,       /* one input, y like it */
    FORM_CONVERT,   /* one input, y of any dtype */
    FORM_BROADCAST, /* a, b of a's dtype or f32; y their promotion */
    FORM_CHOOSE,    /* cond, a, b of a's dtype, y too; broadcast */
    FORM_ROWS       /* one input, along dim; y of its dtype or f32 */
} form_kind;

typedef struct form {
    const char *op;
    form_kind kind;
    /* one of them is given; the first is "" */
    const char *attrs[FORMS_ATTRS];
} form;

extern const form forms[];
extern const int n_forms;

int forms_inputs(const form *f);
const char *forms_name(const form *f, int tensor);

/* The float dtypes: f16 bf16 f32 f64. */
#define FORMS_DTYPES 4
extern const char *const forms_dtypes[FORMS_DTYPES];
/* Sets dtypes of all the tensors by choice number 0 .. count-1; the count. */
int forms_pick_dtypes(const form *f, int choice, const char **dtypes);

#endif /* KILN_TESTS_FORMS_H */
