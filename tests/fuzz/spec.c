/* sources: tests/fuzz/script.c gen/host.c gen/hostlib.c gen/input.c
 * gen/sandbox.c gen/order.c gen/marked.c gen/syntax.c gen/text.c gen/number.c
 * gen/near.c gen/diag.c gen/token.c gen/bind.c
 * gen/bind_call.c gen/bind_key.c gen/bind_plan.c gen/owned.c
 * gen/load.c gen/schema.c runtime/core/ build/embed_data.c */
/* libs: -llua5.4 -lyaml */
/* See spec.lua. */
#include "fuzz.h"
#include "script.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    script_open("spec.lua");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    script_call(data, n, NULL, NULL);
    return 0;
}
