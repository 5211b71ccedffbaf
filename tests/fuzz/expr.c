/* sources: tests/fuzz/script.c tests/fuzz/bytes.c gen/host.c gen/hostlib.c
 * gen/input.c gen/sandbox.c gen/order.c gen/marked.c gen/syntax.c gen/text.c
 * gen/number.c gen/near.c gen/diag.c gen/token.c gen/bind.c
 * gen/bind_call.c gen/bind_key.c gen/bind_plan.c
 * gen/owned.c gen/load.c gen/schema.c runtime/core/ build/embed_data.c */
/* libs: -llua5.4 -lyaml */
/* Expressions. An input that begins with a byte below 128 is 16 bytes of
 * values and an expression's text: parsed and compiled in Lua, run in C, and
 * the result is of the type that the compiler told. Any other is values and
 * postfix code as it comes: the machine ends and reads nothing beside it.
 */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "core/arena.h"
#include "core/expr.h"
#include "fuzz.h"
#include "load.h"
#include "script.h"

#define HEAD 16
#define INSTRUCTIONS 200

/* What expr.lua's scope names, in its order. */
typedef struct names {
    kiln_scope scope;
    kiln_value lets[2];
    kiln_value attrs[4];
    kiln_value loops[1];
    kiln_view tensors[3];
    int64_t arch[2];
    int64_t config[2];
} names;

static const int64_t edges[] = {1, 64, 4096};
static const int64_t census[] = {77};
static const kiln_ladder ladders[] = {{"rows", edges, 3, census, 1},
                                      {"cols", edges, 2, NULL, 0}};
static const kiln_tables tables = {
    .layout = KILN_TABLE_LAYOUT, .ladders = ladders, .n_ladders = 2};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    script_open("expr.lua");
    return 0;
}

/* --- values --------------------------------------------------------------- */

static void fill_view(kiln_view *view, bytes *b)
{
    memset(view, 0, sizeof *view);
    view->dtype = (uint8_t)(bytes_u8(b) % KILN_DTYPE_COUNT);
    view->ndim = (uint8_t)(bytes_u8(b) % (KILN_MAX_RANK + 1));
    for (int d = 0; d < view->ndim; d++) {
        const int64_t size = bytes_int(b);

        view->size[d] = size < 0 ? 1 : size;
        view->stride[d] = bytes_int(b);
    }
}

/* More than the head's bytes only where `wide`. */
static void fill_names(names *to, bytes *b, bool wide)
{
    memset(to, 0, sizeof *to);
    to->lets[0] = (kiln_value){KILN_V_INT, bytes_int(b), 0};
    to->lets[1] = (kiln_value){KILN_V_INT, bytes_int(b), 0};
    to->attrs[0] = (kiln_value){KILN_V_INT, bytes_int(b), 0};
    to->attrs[1] = (kiln_value){KILN_V_FLOAT, 0, bytes_float(b)};
    to->attrs[2] = (kiln_value){KILN_V_BOOL, bytes_u8(b) % 2, 0};
    to->attrs[3] = (kiln_value){KILN_V_INT, bytes_u8(b) % 2, 0};
    to->loops[0] = (kiln_value){KILN_V_INT, bytes_int(b), 0};
    for (int i = 0; i < 2; i++) {
        to->arch[i] = bytes_int(b);
        to->config[i] = 1 + bytes_u8(b);
    }
    for (int i = 0; i < 3; i++) {
        bytes none = {NULL, 0};

        fill_view(&to->tensors[i], wide || i == 0 ? b : &none);
    }
    to->scope =
        (kiln_scope){&tables,   to->arch,    to->config, to->lets, to->attrs,
                     to->loops, to->tensors, 2,          2,        2,
                     4,         1,           3};
}

static void run(const kiln_expr *expr, const kiln_scope *scope,
                const char *type)
{
    static const char *const types[] = {"none", "int", "float", "bool",
                                        "tensor"};
    kiln_result result;
    char why[200];

    memset(why, 'x', sizeof why);
    if (!kiln_expr_run(expr, scope, &result, why, sizeof why)) {
        if (memchr(why, '\0', sizeof why) == NULL || why[0] == '\0') {
            abort();
        }
        return;
    }
    if (result.value.kind == KILN_V_NONE || result.value.kind > KILN_V_TENSOR) {
        abort();
    }
    for (int kind = KILN_V_INT; type != NULL && kind <= KILN_V_TENSOR; kind++) {
        if (strcmp(type, types[kind]) == 0 && (int)result.value.kind != kind) {
            abort();
        }
    }
}

/* --- text ----------------------------------------------------------------- */

static void run_compiled(lua_State *L, void *scope)
{
    kiln_arena arena;
    const kiln_expr *expr;
    const char *type;

    if (lua_isnil(L, 1)) {
        return;
    }
    type = luaL_checkstring(L, 2);
    lua_pushvalue(L, 1);
    kiln_arena_init(&arena, NULL);
    expr = load_struct(L, &arena, &schema_expr);
    run(expr, scope, type);
    kiln_arena_free(&arena);
}

/* --- code ----------------------------------------------------------------- */

static void run_code(bytes *b, const kiln_scope *scope)
{
    kiln_ins *code;
    kiln_expr expr = {"raw", NULL, 0};
    int n = 0;

    code = malloc(INSTRUCTIONS * sizeof *code);
    while (code != NULL && b->n > 0 && n < INSTRUCTIONS) {
        const uint8_t op = bytes_u8(b);

        code[n] = (kiln_ins){(uint8_t)(op % (KILN_X_COUNT + 2)), 0, 0, 0};
        if (op >= 128) {
            code[n].argc = bytes_u8(b);
        } else {
            code[n].argc = (uint8_t)(op / KILN_X_COUNT + 1);
        }
        code[n].i = bytes_int(b);
        code[n].f = op % 2 ? bytes_float(b) : (double)code[n].i;
        n++;
    }
    if (n > 0) {
        /* Exactly as large as it is: a read beyond is seen. */
        expr.code = realloc(code, (size_t)n * sizeof *code);
        expr.n_code = n;
        run(&expr, scope, NULL);
        code = (kiln_ins *)(uintptr_t)expr.code;
    }
    free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    bytes b = {data, n};
    names values;

    if (n < HEAD + 1) {
        return 0;
    }
    if (data[0] < 128) {
        b = (bytes){data + 1, HEAD};
        fill_names(&values, &b, false);
        script_call(data + 1 + HEAD, n - 1 - HEAD, run_compiled, &values.scope);
    } else {
        b = (bytes){data + 1, n - 1};
        fill_names(&values, &b, true);
        run_code(&b, &values.scope);
    }
    return 0;
}
