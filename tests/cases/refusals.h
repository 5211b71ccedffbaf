/* refusals.h: calls that are wrong, or only look so. */
#ifndef KILN_TESTS_REFUSALS_H
#define KILN_TESTS_REFUSALS_H

#include "cases.h"

typedef struct setting {
    kiln_context *ctx;
    trial trial;
    kiln_attr attrs[2];
    int n_attrs;
} setting;

typedef struct refusal {
    const char *name;
    const char *call; /* as call.h reads it, before `change` */
    void (*change)(setting *s);
    kiln_status status; /* KILN_OK: the call is right */
    const char *texts[3];
} refusal;

extern const refusal refusals[];
extern const int n_refusals;

#endif /* KILN_TESTS_REFUSALS_H */
