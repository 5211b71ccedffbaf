/* sources: tests/fuzz/bytes.c runtime/ runtime/core/ runtime/cpu/ runtime/cuda/
 * out/table/ out/table/op/ out/table/cpu/ out/table/sm75/
 * out/table/sm80/ out/table/sm90/ build/cuda/ out/cpu/units/ tests/truth/
 * tests/certify/call.c tests/certify/fill.c tests/certify/guard.c
 * tests/certify/judge.c */
/* Plans of any tensors and attributes. What is planned, of few elements, runs
 * between pages that nobody may touch, and is held to the truth.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "fuzz.h"
#include "internal.h"

#include "../certify/call.h"
#include "../certify/fill.h"
#include "../certify/judge.h"

#define MOST_ELEMENTS 4096
#define MOST_BYTES (1 << 20)
#define POISON 0xFF
#define RANK 10 /* more than are allowed */

enum { PLACED = 1, FLUSH = 2, IN_PLACE = 4, BASE = 8, STRIDES = 16 };

/* A fuzz target is called without a context of its own. */
static kiln_context *contexts[2];
static call_buffers buffers;
static guard workspace;

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, kiln_last_error());
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const isas[] = {"base", NULL};

    (void)argc;
    (void)argv;
    for (int i = 0; i < 2; i++) {
        kiln_options options = {
            .size = sizeof options, .threads = 1, .isa = isas[i]};

        if (kiln_context_create(&contexts[i], (DLDevice){kDLCPU, 0},
                                &options) != KILN_OK) {
            die("context");
        }
    }
    return 0;
}

/* --- a call from bytes ---------------------------------------------------- */

static DLDataType read_dtype(bytes *b)
{
    const uint8_t byte = bytes_u8(b);

    if (byte < 240) {
        return kiln_dtype_to_dlpack(
            (kiln_dtype)(1 + byte % (KILN_DTYPE_COUNT - 1)));
    }
    return (DLDataType){bytes_u8(b), bytes_u8(b), bytes_u8(b)};
}

static int64_t read_size(bytes *b)
{
    const uint8_t byte = bytes_u8(b);

    return byte < 200 ? byte % 20 : bytes_int(b);
}

static void read_tensor(bytes *b, call_tensor *t, int flags)
{
    const uint8_t rank = bytes_u8(b);

    *t = (call_tensor){.name = "t"};
    t->tensor.device.device_type = rank == 255 ? kDLCUDA : kDLCPU;
    t->tensor.dtype = read_dtype(b);
    t->tensor.ndim = rank < 250 ? rank % RANK : (int32_t)rank - 253;
    t->tensor.shape = t->shape;
    t->tensor.strides = t->strides;
    for (int d = 0; d < t->tensor.ndim; d++) {
        t->shape[d] = read_size(b);
    }
    for (int d = t->tensor.ndim - 1, stride = 1; d >= 0; d--) {
        t->strides[d] = (flags & STRIDES) ? bytes_int(b) : stride;
        stride = (int)((uint64_t)stride * (uint64_t)t->shape[d] % 65536);
    }
    t->tensor.byte_offset = (uint64_t)((flags & STRIDES) ? bytes_int(b) : 0);
}

/* Most often the first tensor's dtype and shape: else few calls are right. */
static void read_tensors(bytes *b, call *c, int flags)
{
    for (int i = 0; i < c->n_tensors; i++) {
        const uint8_t like = bytes_u8(b);
        call_tensor *t = &c->tensors[i];

        c->list[i] = &t->tensor;
        if (i > 0 && like < 160) {
            *t = c->tensors[0];
            t->tensor.shape = t->shape;
            t->tensor.strides = t->strides;
            if (like < 20) {
                t->tensor.dtype = read_dtype(b);
            }
        } else {
            read_tensor(b, t, flags);
            c->list[i] = like == 255 ? NULL : &t->tensor;
        }
    }
}

static void read_attrs(bytes *b, call *c, const kiln_op *op)
{
    static const char *const texts[] = {"none", "tanh", "", "x"};

    c->n_attrs = bytes_u8(b) % 4;
    for (int i = 0; i < c->n_attrs; i++) {
        const uint8_t which = bytes_u8(b);
        const bool known = op->n_attrs > 0 && which < 240;
        kiln_attr *attr = &c->attrs[i];

        *attr = (kiln_attr){.name = "none_such"};
        if (known) {
            attr->name = op->attrs[which % op->n_attrs].name;
        }
        attr->kind =
            (kiln_attr_kind)(known ? op->attrs[which % op->n_attrs].type
                                   : which % 6);
        if (attr->kind == KILN_ATTR_FLOAT) {
            attr->value.f = bytes_float(b);
        } else if (attr->kind == KILN_ATTR_STRING) {
            attr->value.s = texts[bytes_u8(b) % 4];
        } else {
            attr->value.i = (int64_t)((uint64_t)bytes_int(b) - 8);
        }
    }
}

/* --- running -------------------------------------------------------------- */

/* All extents and the elements are few, none negative. */
static bool is_small(const call *c)
{
    for (int i = 0; i < c->n_tensors; i++) {
        const DLTensor *t = c->list[i];
        double elements = 1;
        double reach = 1;

        if (t == NULL) {
            continue;
        }
        if (t->ndim < 0 || t->ndim > KILN_MAX_RANK ||
            truth_size(t->dtype) == 0 || t->byte_offset > MOST_BYTES) {
            return false;
        }
        for (int d = 0; d < t->ndim; d++) {
            if (t->shape[d] < 0) {
                return false;
            }
            elements *= (double)t->shape[d];
            reach += (double)t->shape[d] * fabs((double)t->strides[d]);
        }
        if (!(elements <= MOST_ELEMENTS && reach <= MOST_BYTES / 8)) {
            return false;
        }
    }
    return true;
}

static void fill_inputs(call *c, int n_in, uint64_t seed)
{
    for (int i = 0; i < n_in; i++) {
        if (c->list[i] != NULL) {
            fill_special(c->list[i], seed + (uint64_t)i);
        }
    }
}

static void hold_to_truth(const DLTensor *out, const double *want)
{
    static const judge_limits limits = {64, 1e-5, -1};
    judge_report report;

    judge_tensor(out, want, &limits, &report);
    if (report.elements > 0 && report.share > 1) {
        fprintf(stderr, "index %lld: got %.17g, the truth is %.17g\n",
                (long long)report.index, report.got, report.want);
        die("not the truth");
    }
}

/* Of add: alpha * b may overflow where a + alpha * b, in the truth's wider
 * format, does not; then the two differ. */
static bool may_overflow(const call *c)
{
    for (int i = 0; i < c->n_attrs; i++) {
        if (c->attrs[i].kind == KILN_ATTR_FLOAT &&
            !(fabs(c->attrs[i].value.f) <= 1)) {
            return true;
        }
    }
    return false;
}

/* The tensors are placed and the plan is made. */
static void execute(call *c, kiln_plan *plan, uint64_t seed, bool in_place)
{
    const size_t needed = kiln_plan_workspace(plan);
    void *data[CALL_MAX_TENSORS] = {NULL};
    double *want = calloc(MOST_ELEMENTS + 1, sizeof *want);
    void *room = guard_place(&workspace, 0, (int64_t)needed, false);
    DLTensor *out = &c->tensors[c->n_tensors - 1].tensor;
    const int n_in = c->n_tensors - 1;

    if (want == NULL || room == NULL || needed > MOST_BYTES) {
        free(want);
        return;
    }
    if (!in_place) {
        call_paint(out, POISON);
    }
    fill_inputs(c, n_in, seed);
    /* Without elements a composite op's steps are not looked at. */
    if (truth_numel(out) > 0 &&
        truth_eval(c->op, c->list, c->n_tensors, c->attrs, c->n_attrs, 0,
                   want) != TRUTH_OK) {
        die("planned, and no call to the truth");
    }
    for (int i = 0; i < c->n_tensors; i++) {
        data[i] = c->list[i] != NULL ? c->list[i]->data : NULL;
    }
    if (kiln_plan_prepare(plan, NULL) != KILN_OK ||
        kiln_plan_enqueue(plan, data, needed > 0 ? room : NULL, NULL) !=
            KILN_OK) {
        die("planned, and does not run");
    }
    if (!may_overflow(c)) {
        hold_to_truth(out, want);
    }
    free(want);
}

/* --- planning ------------------------------------------------------------- */

static void plan_dry(const call *c)
{
    kiln_request request = {.tables = contexts[0]->tables,
                            .arch = contexts[0]->arch,
                            .device = {kDLCPU, 0},
                            .op = c->op,
                            .tensors = c->list,
                            .n_tensors = c->n_tensors,
                            .attrs = c->attrs,
                            .n_attrs = c->n_attrs};
    kiln_program *program;
    kiln_error err;

    if (kiln_program_create(&program, &request, &err) == KILN_OK) {
        kiln_program_destroy(program);
    }
}

static void describe(kiln_plan *plan)
{
    kiln_buffer_cost rows[16];
    kiln_cost cost = {.buffer_capacity = 16, .buffers = rows};
    char text[2048];

    if (kiln_plan_describe(plan, text, sizeof text) != KILN_OK ||
        kiln_plan_cost(plan, &cost) != KILN_OK ||
        cost.workspace_bytes != (int64_t)kiln_plan_workspace(plan) ||
        cost.bytes_read < 0 || cost.bytes_written < 0 || cost.flops < 0) {
        die("a plan without words or with a wrong cost");
    }
}

static void plan_call(call *c, int flags, uint64_t seed)
{
    kiln_plan *plan = NULL;
    const bool small = is_small(c) && c->list[c->n_tensors - 1] != NULL;
    const bool in_place = small && (flags & IN_PLACE) && c->list[0] != NULL;
    const bool placed = small && call_place(c, &buffers, flags & FLUSH);
    kiln_status status;

    if (placed && in_place) {
        call_tensor *last = &c->tensors[c->n_tensors - 1];

        *last = c->tensors[0];
        last->tensor.shape = last->shape;
        last->tensor.strides = last->strides;
    }
    status = kiln_plan_create(&plan, contexts[(flags & BASE) ? 0 : 1], c->op,
                              c->list, c->n_tensors, c->attrs, c->n_attrs);
    if (status == KILN_INTERNAL) {
        die("a defect");
    }
    if (status != KILN_OK) {
        if (plan != NULL || kiln_last_error()[0] == '\0') {
            die("refused, and a plan or no words");
        }
        return;
    }
    describe(plan);
    if (placed) {
        execute(c, plan, seed, in_place);
    }
    kiln_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const kiln_tables *tables = contexts[0]->tables;
    bytes b = {data, n};
    const kiln_op *op = tables->ops[bytes_u8(&b) % tables->n_ops];
    const int flags = bytes_u8(&b);
    const uint64_t seed = bytes_u8(&b);
    call *c = calloc(1, sizeof *c);

    if (c == NULL) {
        return 0;
    }
    c->op = op->name;
    c->n_tensors = op->n_tensors;
    read_attrs(&b, c, op);
    read_tensors(&b, c, flags);
    plan_dry(c);
    plan_call(c, flags, seed);
    free(c);
    return 0;
}
