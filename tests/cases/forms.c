#include "forms.h"

#include <assert.h>
#include <string.h>

const form forms[] = {
    {"add",
     FORM_BROADCAST,
     {"", " alpha=1", " alpha=-0.7", " alpha=1.1", " alpha=-2.0", " alpha=0.0",
      " alpha=1e-41", " alpha=-3e38"}},
    {"copy", FORM_CONVERT, {""}},
    {"exp", FORM_MAP, {""}},
    {"gelu", FORM_MAP, {"", " approximate=none", " approximate=tanh"}},
    {"log_softmax", FORM_ROWS, {""}},
    {"mul", FORM_BROADCAST, {""}},
    {"relu", FORM_MAP, {""}},
    {"sigmoid", FORM_MAP, {""}},
    {"silu", FORM_MAP, {""}},
    {"softmax", FORM_ROWS, {"", " log=false", " log=true"}},
    {"tanh", FORM_MAP, {""}},
    {"where", FORM_CHOOSE, {""}},
};
const int n_forms = sizeof forms / sizeof *forms;

const char *const forms_dtypes[FORMS_DTYPES] = {"f16", "bf16", "f32", "f64"};
#define F32 2

int forms_inputs(const form *f)
{
    switch (f->kind) {
    case FORM_BROADCAST:
        return 2;
    case FORM_CHOOSE:
        return 3;
    default:
        return 1;
    }
}

const char *forms_name(const form *f, int tensor)
{
    static const char *const names[][FORMS_TENSORS] = {
        {"x", "y"}, {"a", "b", "y"}, {"cond", "a", "b", "y"}};

    return names[forms_inputs(f) - 1][tensor];
}

/* PyTorch's promotion of a float dtype and f32. */
static const char *with_f32(const char *dtype)
{
    return strcmp(dtype, "f64") == 0 ? dtype : forms_dtypes[F32];
}

int forms_pick_dtypes(const form *f, int choice, const char **dtypes)
{
    const char *first = forms_dtypes[choice % FORMS_DTYPES];
    const int other = choice / FORMS_DTYPES;

    assert(choice >= 0);
    for (int i = 0; i < FORMS_TENSORS; i++) {
        dtypes[i] = first;
    }
    switch (f->kind) {
    case FORM_CONVERT:
        dtypes[1] = forms_dtypes[other % FORMS_DTYPES];
        return FORMS_DTYPES * FORMS_DTYPES;
    case FORM_BROADCAST:
        if (other % 2 == 1) {
            dtypes[1] = forms_dtypes[F32];
            dtypes[2] = with_f32(first);
        }
        return 2 * FORMS_DTYPES;
    case FORM_CHOOSE:
        dtypes[0] = "bool";
        return FORMS_DTYPES;
    case FORM_ROWS:
        dtypes[1] = other % 2 == 1 ? forms_dtypes[F32] : first;
        return 2 * FORMS_DTYPES;
    default:
        return FORMS_DTYPES;
    }
}
