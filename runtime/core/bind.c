#include "bind.h"

#include <stdio.h>
#include <string.h>

#include "space.h"

static kiln_status fail_tensor(const kiln_call *call, int t, kiln_error *err,
                               const char *what)
{
    return kiln_fail(err, KILN_INVALID_ARGUMENT, "op %s: tensor %s: %s",
                     call->op->name, call->op->tensors[t].name, what);
}

/* Room for 8 sizes of 19 digits. */
#define SHAPE_TEXT 176

/* "[2, 3]" */
static const char *shape_text(const int64_t *size, int ndim, char *text,
                              size_t cap)
{
    size_t used = 1;

    (void)snprintf(text, cap, "[");
    for (int d = 0; d < ndim && used < cap; d++) {
        used += (size_t)snprintf(text + used, cap - used, "%s%lld",
                                 d > 0 ? ", " : "", (long long)size[d]);
    }
    if (used < cap) {
        (void)snprintf(text + used, cap - used, "]");
    }
    return text;
}

/* Sizes and strides of a tensor whose rank is at most KILN_MAX_RANK. */
static const char *read_dims(kiln_view *view, const DLTensor *tensor)
{
    view->ndim = (uint8_t)tensor->ndim;
    for (int d = 0; d < tensor->ndim; d++) {
        view->size[d] = tensor->shape[d];
        if (view->size[d] < 0) {
            return "negative size";
        }
        if (tensor->strides != NULL) {
            view->stride[d] = tensor->strides[d];
            if (view->stride[d] < 0) {
                return "negative strides are not supported";
            }
        }
    }
    return NULL;
}

static const char *check_extent(kiln_view *view, const DLTensor *tensor,
                                int64_t *bytes)
{
    int64_t low, high, numel;

    if (tensor->strides == NULL && !kiln_view_pack(view)) {
        return "element count overflows int64";
    }
    if (!kiln_view_extent(view, &low, &high)) {
        return kiln_view_numel(view, &numel) ? "byte extent overflows int64"
                                             : "element count overflows int64";
    }
    *bytes = high - low;
    return NULL;
}

static const char *check_data(const kiln_view *view, const DLTensor *tensor,
                              int64_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)tensor->data;

    if (tensor->data == NULL || bytes == 0) {
        return NULL;
    }
    if ((address + (uint64_t)view->offset) %
            (uint64_t)kiln_dtype_size(view->dtype) !=
        0) {
        return "data is not aligned to its element size";
    }
    return NULL;
}

static const char *read_tensor(kiln_view *view, const DLTensor *tensor,
                               int64_t *bytes)
{
    kiln_dtype dtype = kiln_dtype_from_dlpack(tensor->dtype);
    const char *why;

    if (dtype == KILN_DTYPE_COUNT) {
        return "unknown dtype (code, bits or lanes)";
    }
    view->dtype = (uint8_t)dtype;
    if (tensor->ndim < 0 || tensor->ndim > KILN_MAX_RANK) {
        return "rank is not 0 to 8";
    }
    if (tensor->ndim > 0 && tensor->shape == NULL) {
        return "shape is NULL";
    }
    if (tensor->byte_offset > INT64_MAX / 4) {
        return "byte_offset is too large";
    }
    view->offset = (int64_t)tensor->byte_offset;
    if ((why = read_dims(view, tensor)) != NULL ||
        (why = check_extent(view, tensor, bytes)) != NULL) {
        return why;
    }
    return check_data(view, tensor, *bytes);
}

kiln_status kiln_bind_tensor(kiln_call *call, int index, const DLTensor *tensor,
                             DLDevice device, int64_t *bytes, kiln_error *err)
{
    kiln_view *view = &call->tensors[index];
    const char *why;

    *bytes = 0;
    view->buffer = index;
    if (tensor == NULL) {
        view->dtype = KILN_NONE;
        view->ndim = 0;
        view->offset = 0;
        return KILN_OK;
    }
    if (tensor->device.device_type != device.device_type ||
        tensor->device.device_id != device.device_id) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "op %s: tensor %s: on device %d:%d, the context is "
                         "on %d:%d",
                         call->op->name, call->op->tensors[index].name,
                         (int)tensor->device.device_type,
                         (int)tensor->device.device_id, (int)device.device_type,
                         (int)device.device_id);
    }
    if ((why = read_tensor(view, tensor, bytes)) != NULL) {
        return fail_tensor(call, index, err, why);
    }
    if (view->ndim == 0) {
        call->scalars |= 1u << index;
        view->ndim = 1;
        view->size[0] = 1;
        view->stride[0] = 1;
    }
    return KILN_OK;
}

static const char *kind_name(int type)
{
    static const char *const names[] = {"?", "int", "float", "bool", "string"};

    return type >= 1 && type <= 4 ? names[type] : names[0];
}

/* Index of the choice, or -1. */
static int find_choice(const kiln_op_attr *attr, const char *text)
{
    for (int i = 0; text != NULL && i < attr->n_choices; i++) {
        if (strcmp(attr->choices[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

static kiln_status bind_string(const kiln_op *op, const kiln_op_attr *attr,
                               const char *text, kiln_value *value,
                               kiln_error *err)
{
    *value = (kiln_value){KILN_V_INT, find_choice(attr, text), 0};
    if (value->i >= 0) {
        return KILN_OK;
    }
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "op %s: attribute %s: \"%.40s\" is none of:", op->name,
              attr->name, text != NULL ? text : "(NULL)");
    for (int i = 0; i < attr->n_choices; i++) {
        kiln_fail_more(err, " %s", attr->choices[i]);
    }
    return err->status;
}

static kiln_status bind_attr(const kiln_op *op, const kiln_op_attr *attr,
                             const kiln_attr *given, kiln_value *value,
                             kiln_error *err)
{
    switch (attr->type) {
    case KILN_TYPE_INT:
    case KILN_TYPE_BOOL:
        if (given->kind ==
            (attr->type == KILN_TYPE_INT ? KILN_ATTR_INT : KILN_ATTR_BOOL)) {
            bool is_int = attr->type == KILN_TYPE_INT;

            *value =
                (kiln_value){is_int ? KILN_V_INT : KILN_V_BOOL,
                             is_int ? given->value.i : given->value.i != 0, 0};
            return KILN_OK;
        }
        break;
    case KILN_TYPE_FLOAT:
        if (given->kind == KILN_ATTR_FLOAT || given->kind == KILN_ATTR_INT) {
            bool is_int = given->kind == KILN_ATTR_INT;

            *value =
                (kiln_value){KILN_V_FLOAT, 0,
                             is_int ? (double)given->value.i : given->value.f};
            return KILN_OK;
        }
        break;
    default:
        if (given->kind == KILN_ATTR_STRING) {
            return bind_string(op, attr, given->value.s, value, err);
        }
        break;
    }
    return kiln_fail(err, KILN_INVALID_ARGUMENT,
                     "op %s: attribute %s: expects %s, got %s", op->name,
                     attr->name, kind_name(attr->type),
                     kind_name((int)given->kind));
}

static int find_attr(const kiln_op *op, const char *name)
{
    for (int a = 0; a < op->n_attrs; a++) {
        if (strcmp(op->attrs[a].name, name) == 0) {
            return a;
        }
    }
    return -1;
}

static kiln_status fail_unknown_attr(const kiln_op *op, const char *name,
                                     kiln_error *err)
{
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "op %s: no attribute \"%.40s\"; it has:", op->name, name);
    for (int a = 0; a < op->n_attrs; a++) {
        kiln_fail_more(err, " %s", op->attrs[a].name);
    }
    if (op->n_attrs == 0) {
        kiln_fail_more(err, " none");
    }
    return err->status;
}

static kiln_status bind_default(const kiln_op *op, const kiln_op_attr *attr,
                                kiln_value *value, kiln_error *err)
{
    static const uint8_t kinds[] = {KILN_V_NONE, KILN_V_INT, KILN_V_FLOAT,
                                    KILN_V_BOOL, KILN_V_INT};

    if (attr->required) {
        return kiln_fail(err, KILN_INVALID_ARGUMENT,
                         "op %s: attribute %s (%s) is required", op->name,
                         attr->name, kind_name(attr->type));
    }
    value->kind = (kiln_value_kind)kinds[attr->type];
    value->i = attr->i;
    value->f = attr->f;
    return KILN_OK;
}

kiln_status kiln_bind_attrs(kiln_call *call, const kiln_attr *attrs, int n,
                            kiln_error *err)
{
    const kiln_op *op = call->op;
    uint32_t seen = 0;
    kiln_status status = KILN_OK;

    for (int i = 0; i < n && status == KILN_OK; i++) {
        int a;

        if (attrs[i].name == NULL) {
            return kiln_fail(err, KILN_INVALID_ARGUMENT,
                             "op %s: attribute %d has no name", op->name, i);
        }
        a = find_attr(op, attrs[i].name);
        if (a < 0) {
            return fail_unknown_attr(op, attrs[i].name, err);
        }
        if (seen >> a & 1) {
            return kiln_fail(err, KILN_INVALID_ARGUMENT,
                             "op %s: attribute %s is given twice", op->name,
                             attrs[i].name);
        }
        seen |= 1u << a;
        status = bind_attr(op, &op->attrs[a], &attrs[i], &call->attrs[a], err);
    }
    for (int a = 0; a < op->n_attrs && status == KILN_OK; a++) {
        if (!(seen >> a & 1)) {
            status = bind_default(op, &op->attrs[a], &call->attrs[a], err);
        }
    }
    return status;
}

/* The promotion of the tensors in mask; *scalar says whether PyTorch's rule
 * for rank-0 tensors would give another answer. */
static kiln_dtype promotion(const kiln_call *call, uint32_t mask, bool *scalar)
{
    kiln_dtype all = KILN_NONE;
    kiln_dtype ranked = KILN_NONE;

    for (int t = 0; t < call->op->n_tensors; t++) {
        kiln_dtype dtype = (kiln_dtype)call->tensors[t].dtype;

        if (!(mask >> t & 1)) {
            continue;
        }
        all = kiln_dtype_promote(all, dtype);
        if (!(call->scalars >> t & 1)) {
            ranked = kiln_dtype_promote(ranked, dtype);
        }
    }
    *scalar = ranked != KILN_NONE && ranked != all;
    return all;
}

static bool dtype_allowed(const kiln_call *call, int t, bool *scalar)
{
    const kiln_op_tensor *spec = &call->op->tensors[t];
    kiln_dtype dtype = (kiln_dtype)call->tensors[t].dtype;

    *scalar = false;
    if (spec->dtypes >> dtype & 1) {
        return true;
    }
    for (int o = 0; o < call->op->n_tensors; o++) {
        if ((spec->like >> o & 1) && call->tensors[o].dtype == dtype) {
            return true;
        }
    }
    return spec->promote != 0 &&
           promotion(call, spec->promote, scalar) == dtype && !*scalar;
}

static kiln_status fail_dtype(const kiln_call *call, int t, bool scalar,
                              kiln_error *err)
{
    const kiln_op_tensor *spec = &call->op->tensors[t];

    if (scalar) {
        return fail_tensor(call, t, err,
                           "a rank-0 operand of a higher dtype does not "
                           "promote here; cast it first");
    }
    kiln_fail(err, KILN_INVALID_ARGUMENT,
              "op %s: tensor %s: dtype %s is none of:", call->op->name,
              spec->name, kiln_dtype_name((kiln_dtype)call->tensors[t].dtype));
    for (int d = 0; d < KILN_DTYPE_COUNT; d++) {
        if (spec->dtypes >> d & 1) {
            kiln_fail_more(err, " %s", kiln_dtype_name((kiln_dtype)d));
        }
    }
    for (int o = 0; o < call->op->n_tensors; o++) {
        if (spec->like >> o & 1) {
            kiln_fail_more(err, " %s (that of %s)",
                           kiln_dtype_name((kiln_dtype)call->tensors[o].dtype),
                           call->op->tensors[o].name);
        }
    }
    if (spec->promote != 0) {
        kiln_fail_more(
            err, " %s (the inputs' promotion)",
            kiln_dtype_name(promotion(call, spec->promote, &scalar)));
    }
    return err->status;
}

/* The rank that tensor t came with. */
static int given_rank(const kiln_call *call, int t)
{
    return call->scalars >> t & 1 ? 0 : call->tensors[t].ndim;
}

/* Holds tensor t against a shape of `rank` dims. */
static kiln_status match_shape(const kiln_call *call, int t,
                               const int64_t *size, int rank, kiln_error *err)
{
    static const int64_t one[] = {1};
    const kiln_view *view = &call->tensors[t];
    char got[SHAPE_TEXT], wanted[SHAPE_TEXT];

    if (rank == 0 && call->inner) {
        size = one;
        rank = 1;
    }
    if (given_rank(call, t) == rank &&
        memcmp(view->size, size, (size_t)rank * sizeof *size) == 0) {
        return KILN_OK;
    }
    return kiln_fail(
        err, KILN_INVALID_ARGUMENT, "op %s: tensor %s: shape %s, expected %s",
        call->op->name, call->op->tensors[t].name,
        shape_text(view->size, given_rank(call, t), got, sizeof got),
        shape_text(size, rank, wanted, sizeof wanted));
}

/* Rank 0 when all that is broadcast has it. */
static int broadcast_rank(const kiln_call *call, int ndim)
{
    for (int t = 0; t < call->op->n_tensors; t++) {
        if (call->op->tensors[t].role != KILN_OUT &&
            call->tensors[t].dtype != KILN_NONE && given_rank(call, t) > 0) {
            return ndim;
        }
    }
    return 0;
}

static kiln_status check_shape(const kiln_call *call, int t, kiln_error *err)
{
    const kiln_op_tensor *spec = &call->op->tensors[t];
    int64_t size[KILN_MAX_RANK];
    char why[200];
    int ndim;

    if (spec->shape_rule == KILN_SHAPE_LIKE) {
        int like = spec->shape_like;

        return match_shape(call, t, call->tensors[like].size,
                           given_rank(call, like), err);
    }
    if (spec->shape_rule == KILN_SHAPE_BROADCAST) {
        if (!kiln_space_broadcast(call->op, call->tensors, size, &ndim, why,
                                  sizeof why)) {
            return kiln_fail(err, KILN_INVALID_ARGUMENT, "op %s: %s",
                             call->op->name, why);
        }
        return match_shape(call, t, size, broadcast_rank(call, ndim), err);
    }
    return KILN_OK;
}

kiln_status kiln_bind_check(const kiln_call *call, kiln_error *err)
{
    for (int t = 0; t < call->op->n_tensors; t++) {
        const kiln_op_tensor *spec = &call->op->tensors[t];
        bool scalar;
        kiln_status status;

        if (call->tensors[t].dtype == KILN_NONE) {
            if (spec->optional) {
                continue;
            }
            return fail_tensor(call, t, err, "is required");
        }
        if (!dtype_allowed(call, t, &scalar)) {
            return fail_dtype(call, t, scalar, err);
        }
        if ((status = check_shape(call, t, err)) != KILN_OK) {
            return status;
        }
        if (spec->role != KILN_IN &&
            kiln_view_overlaps_itself(&call->tensors[t])) {
            return fail_tensor(call, t, err,
                               "the written tensor has internal overlap");
        }
    }
    return KILN_OK;
}

kiln_status kiln_bind_check_shapes(const kiln_call *call,
                                   const kiln_scope *scope, kiln_error *err)
{
    for (int t = 0; t < call->op->n_tensors; t++) {
        const kiln_op_tensor *spec = &call->op->tensors[t];
        int64_t size[KILN_MAX_RANK];
        kiln_status status;
        char why[200];

        if (spec->shape_rule != KILN_SHAPE_EXPRS ||
            call->tensors[t].dtype == KILN_NONE) {
            continue;
        }
        for (int d = 0; d < spec->n_shape; d++) {
            if (!kiln_expr_int(&spec->shape[d], scope, &size[d], why,
                               sizeof why)) {
                return kiln_fail(err, KILN_INVALID_ARGUMENT,
                                 "op %s: shape of %s: %s: %s", call->op->name,
                                 spec->name, spec->shape[d].text, why);
            }
        }
        status = match_shape(call, t, size, spec->n_shape, err);
        if (status != KILN_OK) {
            return status;
        }
    }
    return KILN_OK;
}

bool kiln_bind_empty(const kiln_call *call)
{
    for (int t = 0; t < call->op->n_tensors; t++) {
        if (call->op->tensors[t].role != KILN_IN &&
            call->tensors[t].dtype != KILN_NONE &&
            !kiln_view_is_empty(&call->tensors[t])) {
            return false;
        }
    }
    return true;
}
