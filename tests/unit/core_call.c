#include "core_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void core_begin(core_call *call, const char *op)
{
    memset(call, 0, sizeof *call);
    call->request.tables = &core_tables;
    call->request.arch = core_plain;
    call->request.device = (DLDevice){kDLCPU, 0};
    call->request.op = op;
    call->request.tensors = call->pointer;
    call->request.attrs = call->attr;
}

DLTensor *core_tensor(core_call *call, kiln_dtype dtype, int rank,
                      const int64_t *size)
{
    return core_strided(call, dtype, rank, size, NULL);
}

DLTensor *core_strided(core_call *call, kiln_dtype dtype, int rank,
                       const int64_t *size, const int64_t *stride)
{
    int t = call->request.n_tensors++;
    DLTensor *tensor = &call->tensor[t];

    *tensor = (DLTensor){.device = {kDLCPU, 0},
                         .ndim = rank,
                         .dtype = kiln_dtype_to_dlpack(dtype),
                         .shape = call->size[t]};
    for (int d = 0; d < rank; d++) {
        call->size[t][d] = size[d];
    }
    if (stride != NULL) {
        tensor->strides = call->stride[t];
        for (int d = 0; d < rank; d++) {
            call->stride[t][d] = stride[d];
        }
    }
    call->pointer[t] = tensor;
    return tensor;
}

void core_absent(core_call *call)
{
    call->pointer[call->request.n_tensors++] = NULL;
}

static kiln_attr *new_attr(core_call *call, const char *name,
                           kiln_attr_kind kind)
{
    kiln_attr *attr = &call->attr[call->request.n_attrs++];

    attr->name = name;
    attr->kind = kind;
    return attr;
}

void core_int(core_call *call, const char *name, int64_t value)
{
    new_attr(call, name, KILN_ATTR_INT)->value.i = value;
}

void core_float(core_call *call, const char *name, double value)
{
    new_attr(call, name, KILN_ATTR_FLOAT)->value.f = value;
}

void core_bool(core_call *call, const char *name, int value)
{
    new_attr(call, name, KILN_ATTR_BOOL)->value.i = value;
}

void core_string(core_call *call, const char *name, const char *value)
{
    new_attr(call, name, KILN_ATTR_STRING)->value.s = value;
}

kiln_status core_plan(core_call *call)
{
    core_end(call);
    call->err = (kiln_error){KILN_OK, ""};
    return kiln_program_create(&call->program, &call->request, &call->err);
}

const kiln_program *core_succeed(core_call *call)
{
    if (core_plan(call) != KILN_OK) {
        fail_msg("%s", call->err.text);
    }
    assert_non_null(call->program);
    return call->program;
}

static void fail_plan(core_call *call, kiln_status status)
{
    kiln_status got = core_plan(call);

    if (got != status || call->err.status != status) {
        fail_msg("status %d, not %d: %s", got, status, call->err.text);
    }
    assert_null(call->program);
}

void core_refuse(core_call *call, kiln_status status, const char *text)
{
    fail_plan(call, status);
    assert_string_equal(call->err.text, text);
}

void core_refuse_with(core_call *call, kiln_status status, const char *part)
{
    fail_plan(call, status);
    if (strstr(call->err.text, part) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", call->err.text, part);
    }
}

void core_end(core_call *call)
{
    kiln_program_destroy(call->program);
    call->program = NULL;
}

const char *core_key_text(const kiln_key *key, char *text, size_t cap)
{
    int positions[KILN_MAX_AXES];

    (void)kiln_key_positions(&core_tables, key, positions);
    kiln_key_text(&core_tables, key, positions, text, cap);
    return text;
}

uint64_t core_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

int64_t core_between(uint64_t *seed, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;

    return low +
           (int64_t)(span == 0 ? core_random(seed) : core_random(seed) % span);
}
