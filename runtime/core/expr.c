#include "expr.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "expr_machine.h"

#define ANY (-1) /* as many operands as the instruction says */

typedef struct operation {
    const char *name;   /* of the opcode, as Lua writes it */
    const char *symbol; /* as a spec writes it */
    int takes;          /* operands that must be on the stack, or ANY */
    kiln_operation *run;
} operation;

static kiln_operation push, push_slot, invert, jump, jump_unless, short_circuit,
    need_bool, no_arm;

/* ORDER: opcodes. */
static const operation OPERATIONS[KILN_X_COUNT] = {
    [KILN_X_INT] = {"INT", "", 0, push},
    [KILN_X_FLOAT] = {"FLOAT", "", 0, push},
    [KILN_X_BOOL] = {"BOOL", "", 0, push},
    [KILN_X_LET] = {"LET", "let", 0, push_slot},
    [KILN_X_ATTR] = {"ATTR", "attribute", 0, push_slot},
    [KILN_X_TENSOR] = {"TENSOR", "tensor", 0, push_slot},
    [KILN_X_LOOP] = {"LOOP", "loop variable", 0, push_slot},
    [KILN_X_ARCH] = {"ARCH", "arch field", 0, push_slot},
    [KILN_X_CONFIG] = {"CONFIG", "config field", 0, push_slot},
    [KILN_X_NEG] = {"NEG", "-", 1, kiln_number_negate},
    [KILN_X_NOT] = {"NOT", "not", 1, invert},
    [KILN_X_ADD] = {"ADD", "+", 2, kiln_number_arithmetic},
    [KILN_X_SUB] = {"SUB", "-", 2, kiln_number_arithmetic},
    [KILN_X_MUL] = {"MUL", "*", 2, kiln_number_arithmetic},
    [KILN_X_DIV] = {"DIV", "/", 2, kiln_number_arithmetic},
    [KILN_X_FLOORDIV] = {"FLOORDIV", "//", 2, kiln_number_divide},
    [KILN_X_MOD] = {"MOD", "%", 2, kiln_number_divide},
    [KILN_X_EQ] = {"EQ", "==", 2, kiln_number_compare},
    [KILN_X_NE] = {"NE", "!=", 2, kiln_number_compare},
    [KILN_X_LT] = {"LT", "<", 2, kiln_number_compare},
    [KILN_X_LE] = {"LE", "<=", 2, kiln_number_compare},
    [KILN_X_GT] = {"GT", ">", 2, kiln_number_compare},
    [KILN_X_GE] = {"GE", ">=", 2, kiln_number_compare},
    [KILN_X_JUMP] = {"JUMP", "", 0, jump},
    [KILN_X_JUMP_FALSE] = {"JUMP_FALSE", "a condition", 1, jump_unless},
    [KILN_X_AND] = {"AND", "and", 1, short_circuit},
    [KILN_X_OR] = {"OR", "or", 1, short_circuit},
    [KILN_X_BOOLEAN] = {"BOOLEAN", "and/or", 1, need_bool},
    [KILN_X_CDIV] = {"CDIV", "cdiv", 2, kiln_number_divide},
    [KILN_X_NEXT_POW2] = {"NEXT_POW2", "next_pow2", 1, kiln_call_integers},
    [KILN_X_MIN] = {"MIN", "min", ANY, kiln_call_choose},
    [KILN_X_MAX] = {"MAX", "max", ANY, kiln_call_choose},
    [KILN_X_CLAMP] = {"CLAMP", "clamp", 3, kiln_call_clamp},
    [KILN_X_POPCOUNT] = {"POPCOUNT", "popcount", 1, kiln_call_integers},
    [KILN_X_ALIGN] = {"ALIGN", "align", 2, kiln_call_integers},
    [KILN_X_BUCKET] = {"BUCKET", "bucket", 1, kiln_call_bucket},
    [KILN_X_SIZE] = {"SIZE", "size", 2, kiln_call_dim},
    [KILN_X_STRIDE] = {"STRIDE", "stride", 2, kiln_call_dim},
    [KILN_X_NUMEL] = {"NUMEL", "numel", 1, kiln_call_tensor},
    [KILN_X_RANK] = {"RANK", "rank", 1, kiln_call_tensor},
    [KILN_X_DTYPE] = {"DTYPE", "dtype", 1, kiln_call_tensor},
    [KILN_X_DTYPE_SIZE] = {"DTYPE_SIZE", "dtype_size", 1, kiln_call_tensor},
    [KILN_X_PRESENT] = {"PRESENT", "present", 1, kiln_call_tensor},
    [KILN_X_VIEW] = {"VIEW", "view", ANY, kiln_call_view},
    [KILN_X_MERGE] = {"MERGE", "merge", 3, kiln_call_view},
    [KILN_X_TRANSPOSE] = {"TRANSPOSE", "transpose", ANY, kiln_call_view},
    [KILN_X_SLICE] = {"SLICE", "slice", 4, kiln_call_view},
    [KILN_X_EXPAND] = {"EXPAND", "expand", ANY, kiln_call_view},
    [KILN_X_GROUP] = {"GROUP", "group", 2, kiln_call_view},
    [KILN_X_FAIL] = {"FAIL", "match", 0, no_arm},
};

const char *kiln_opcode_name(int op)
{
    return op > 0 && op < KILN_X_COUNT ? OPERATIONS[op].name : NULL;
}

int kiln_opcode_parse(const char *name)
{
    for (int op = 1; op < KILN_X_COUNT; op++) {
        if (strcmp(OPERATIONS[op].name, name) == 0)
            return op;
    }
    return 0;
}

/* --- failures ------------------------------------------------------------ */

kiln_value *kiln_machine_fail(kiln_machine *m, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(m->why, m->cap, format, args);
    va_end(args);
    return NULL;
}

kiln_value *kiln_machine_malformed(kiln_machine *m)
{
    return kiln_machine_fail(m, "malformed code");
}

const char *kiln_machine_symbol(const kiln_ins *ins)
{
    return OPERATIONS[ins->op].symbol;
}

static const char *kind_name(kiln_value_kind kind)
{
    static const char *const names[] = {"nothing", "an int", "a float",
                                        "a bool", "a tensor"};

    return kind <= KILN_V_TENSOR ? names[kind] : "?";
}

kiln_value *kiln_machine_mismatch(kiln_machine *m, const kiln_ins *ins,
                                  const char *needs, const kiln_value *got)
{
    return kiln_machine_fail(m, "%s needs %s, not %s", kiln_machine_symbol(ins),
                             needs, kind_name(got->kind));
}

/* --- values -------------------------------------------------------------- */

static kiln_value *push_value(kiln_machine *m, kiln_value *top,
                              kiln_value_kind kind, int64_t i, double f)
{
    if (top == m->stack + KILN_EXPR_STACK)
        return kiln_machine_malformed(m);
    top->kind = kind;
    top->i = i;
    top->f = f;
    return top + 1;
}

static kiln_value *push(kiln_machine *m, const kiln_ins *ins, kiln_value *top)
{
    switch (ins->op) {
    case KILN_X_INT:
        return push_value(m, top, KILN_V_INT, ins->i, 0);
    case KILN_X_FLOAT:
        return push_value(m, top, KILN_V_FLOAT, 0, ins->f);
    default:
        return push_value(m, top, KILN_V_BOOL, ins->i != 0, 0);
    }
}

static kiln_value *no_value(kiln_machine *m, const kiln_ins *ins)
{
    return kiln_machine_fail(m, "%s %" PRId64 " has no value here",
                             kiln_machine_symbol(ins), ins->i);
}

/* A slot's value, once it is known to be one. */
static kiln_value *push_known(kiln_machine *m, const kiln_ins *ins,
                              kiln_value *top, const kiln_value *v)
{
    switch (v->kind) {
    case KILN_V_INT:
    case KILN_V_FLOAT:
        return push_value(m, top, v->kind, v->i, v->f);
    case KILN_V_BOOL:
        return push_value(m, top, v->kind, v->i != 0, 0);
    case KILN_V_TENSOR:
        if (v->i < 0 || v->i >= m->scope->n_tensors)
            return no_value(m, ins);
        return push_value(m, top, v->kind, v->i, 0);
    default:
        return no_value(m, ins);
    }
}

static kiln_value *push_slot(kiln_machine *m, const kiln_ins *ins,
                             kiln_value *top)
{
    const kiln_scope *s = m->scope;
    int64_t i = ins->i;

    if (i < 0)
        return kiln_machine_malformed(m);
    if (ins->op == KILN_X_LET && i < s->n_lets)
        return push_known(m, ins, top, &s->lets[i]);
    if (ins->op == KILN_X_ATTR && i < s->n_attrs)
        return push_known(m, ins, top, &s->attrs[i]);
    if (ins->op == KILN_X_LOOP && i < s->n_loops)
        return push_known(m, ins, top, &s->loops[i]);
    if (ins->op == KILN_X_TENSOR && i < s->n_tensors)
        return push_value(m, top, KILN_V_TENSOR, i, 0);
    if (ins->op == KILN_X_ARCH && s->arch != NULL && i < s->n_arch)
        return push_value(m, top, KILN_V_INT, s->arch[i], 0);
    if (ins->op == KILN_X_CONFIG && s->config != NULL && i < s->n_config)
        return push_value(m, top, KILN_V_INT, s->config[i], 0);
    return no_value(m, ins);
}

/* --- truth and jumps
 * --------------------------------------------------------------- */

static kiln_value *need_bool(kiln_machine *m, const kiln_ins *ins,
                             kiln_value *top)
{
    if (top[-1].kind != KILN_V_BOOL)
        return kiln_machine_mismatch(m, ins, "a bool", top - 1);
    return top;
}

static kiln_value *invert(kiln_machine *m, const kiln_ins *ins, kiln_value *top)
{
    if (need_bool(m, ins, top) == NULL)
        return NULL;
    top[-1].i = !top[-1].i;
    return top;
}

static kiln_value *jump(kiln_machine *m, const kiln_ins *ins, kiln_value *top)
{
    m->skip = ins->i;
    return top;
}

static kiln_value *jump_unless(kiln_machine *m, const kiln_ins *ins,
                               kiln_value *top)
{
    if (need_bool(m, ins, top) == NULL)
        return NULL;
    if (top[-1].i == 0)
        m->skip = ins->i;
    return top - 1;
}

static kiln_value *short_circuit(kiln_machine *m, const kiln_ins *ins,
                                 kiln_value *top)
{
    if (need_bool(m, ins, top) == NULL)
        return NULL;
    if ((top[-1].i != 0) != (ins->op == KILN_X_OR))
        return top - 1;
    m->skip = ins->i;
    return top;
}

static kiln_value *no_arm(kiln_machine *m, const kiln_ins *ins, kiln_value *top)
{
    (void)ins;
    (void)top;
    return kiln_machine_fail(m, "no arm of match holds");
}

/* --- running ------------------------------------------------------------- */

static bool run(kiln_machine *m, const kiln_expr *expr)
{
    const kiln_ins *code = expr->code;
    kiln_value *top = m->stack;
    int32_t n = expr->n_code;

    for (int32_t pc = 0; pc < n; pc++) {
        const kiln_ins *ins = &code[pc];
        const operation *op;

        if (ins->op == 0 || ins->op >= KILN_X_COUNT)
            return kiln_machine_malformed(m) != NULL;
        op = &OPERATIONS[ins->op];
        if (top - m->stack < (op->takes == ANY ? ins->argc : op->takes))
            return kiln_machine_malformed(m) != NULL;
        top = op->run(m, ins, top);
        if (top == NULL)
            return false;
        if (m->skip != 0) {
            if (m->skip < 0 || m->skip >= n - pc)
                return kiln_machine_malformed(m) != NULL;
            pc += (int32_t)m->skip;
            m->skip = 0;
        }
    }
    return top - m->stack == 1 || kiln_machine_malformed(m) != NULL;
}

/* Runs with a view of the caller's: only what a view operation writes of it
 * is touched, for a view is large and most results are numbers. */
static bool start(kiln_machine *m, const kiln_expr *expr,
                  const kiln_scope *scope, kiln_view *view, char *why,
                  size_t cap)
{
    assert(expr != NULL && scope != NULL && (why != NULL || cap == 0));
    m->scope = scope;
    m->view = view;
    m->view_in_use = false;
    m->skip = 0;
    m->why = why;
    m->cap = cap;
    return run(m, expr);
}

bool kiln_expr_run(const kiln_expr *expr, const kiln_scope *scope,
                   kiln_result *result, char *why, size_t cap)
{
    kiln_machine m;

    if (!start(&m, expr, scope, &result->view, why, cap))
        return false;
    result->value = m.stack[0];
    if (result->value.kind == KILN_V_TENSOR && result->value.i >= 0)
        result->view = scope->tensors[result->value.i];
    return true;
}

/* Runs for one kind of value. */
static bool run_for(kiln_value_kind kind, kiln_machine *m,
                    const kiln_expr *expr, const kiln_scope *scope, char *why,
                    size_t cap)
{
    kiln_view view;

    if (!start(m, expr, scope, &view, why, cap))
        return false;
    if (m->stack[0].kind == kind)
        return true;
    kiln_machine_fail(m, "the expression needs to give %s, not %s",
                      kind_name(kind), kind_name(m->stack[0].kind));
    return false;
}

bool kiln_expr_int(const kiln_expr *expr, const kiln_scope *scope,
                   int64_t *value, char *why, size_t cap)
{
    kiln_machine m;

    if (!run_for(KILN_V_INT, &m, expr, scope, why, cap))
        return false;
    *value = m.stack[0].i;
    return true;
}

bool kiln_expr_bool(const kiln_expr *expr, const kiln_scope *scope, bool *value,
                    char *why, size_t cap)
{
    kiln_machine m;

    if (!run_for(KILN_V_BOOL, &m, expr, scope, why, cap))
        return false;
    *value = m.stack[0].i != 0;
    return true;
}

bool kiln_expr_float(const kiln_expr *expr, const kiln_scope *scope,
                     double *value, char *why, size_t cap)
{
    kiln_machine m;
    kiln_view view;

    if (!start(&m, expr, scope, &view, why, cap))
        return false;
    if (!kiln_value_is_number(&m.stack[0])) {
        kiln_machine_fail(&m, "the expression needs to give a number, not %s",
                          kind_name(m.stack[0].kind));
        return false;
    }
    *value = kiln_value_as_float(&m.stack[0]);
    return true;
}
