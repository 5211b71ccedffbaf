/* truth_tensor.c: elements of strided tensors as doubles, and threads. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "truth_ops.h"

typedef enum element {
    ELEMENT_NONE = 0,
    ELEMENT_BOOL,
    ELEMENT_U8,
    ELEMENT_I8,
    ELEMENT_I16,
    ELEMENT_I32,
    ELEMENT_I64,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_F32,
    ELEMENT_F64
} element;

static element element_of(DLDataType type)
{
    if (type.lanes != 1)
        return ELEMENT_NONE;
    switch (type.code << 8 | type.bits) {
    case kDLBool << 8 | 8:
        return ELEMENT_BOOL;
    case kDLUInt << 8 | 8:
        return ELEMENT_U8;
    case kDLInt << 8 | 8:
        return ELEMENT_I8;
    case kDLInt << 8 | 16:
        return ELEMENT_I16;
    case kDLInt << 8 | 32:
        return ELEMENT_I32;
    case kDLInt << 8 | 64:
        return ELEMENT_I64;
    case kDLFloat << 8 | 16:
        return ELEMENT_F16;
    case kDLBfloat << 8 | 16:
        return ELEMENT_BF16;
    case kDLFloat << 8 | 32:
        return ELEMENT_F32;
    case kDLFloat << 8 | 64:
        return ELEMENT_F64;
    default:
        return ELEMENT_NONE;
    }
}

int64_t truth_size(DLDataType type)
{
    return element_of(type) == ELEMENT_NONE ? 0 : type.bits / 8;
}

bool truth_is_float(DLDataType type)
{
    return element_of(type) >= ELEMENT_F16;
}

bool truth_is_f64(DLDataType type)
{
    return element_of(type) == ELEMENT_F64;
}

int64_t truth_numel(const DLTensor *tensor)
{
    int64_t n = 1;
    /* A tensor of no elements may have any other sizes. */
    for (int d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0)
            return 0;
    for (int d = 0; d < tensor->ndim; d++)
        n *= tensor->shape[d];
    return n;
}

int64_t truth_stride(const DLTensor *tensor, int d)
{
    if (tensor->strides)
        return tensor->strides[d];
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; i > d; i--)
        stride *= tensor->shape[i];
    return stride;
}

int64_t truth_offset(const DLTensor *tensor, int64_t flat)
{
    int64_t offset = 0;
    for (int d = tensor->ndim - 1; d >= 0; d--) {
        offset += flat % tensor->shape[d] * truth_stride(tensor, d);
        flat /= tensor->shape[d];
    }
    return offset;
}

static char *element_address(const DLTensor *tensor, int64_t flat)
{
    return (char *)tensor->data + tensor->byte_offset +
           truth_offset(tensor, flat) * truth_size(tensor->dtype);
}

double truth_read(const DLTensor *tensor, int64_t flat)
{
    double value;
    truth_read_run(tensor->dtype, element_address(tensor, flat), 0, 1, &value);
    return value;
}

void truth_write(const DLTensor *tensor, int64_t flat, double value)
{
    truth_write_run(tensor->dtype, element_address(tensor, flat), 0, 1, &value);
}

void truth_read_run(DLDataType type, const void *first, int64_t stride,
                    int64_t n, double *out)
{
    assert(element_of(type) != ELEMENT_NONE);
    switch (element_of(type)) {
    case ELEMENT_BOOL:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const uint8_t *)first)[i * stride] != 0;
        break;
    case ELEMENT_U8:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const uint8_t *)first)[i * stride];
        break;
    case ELEMENT_I8:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const int8_t *)first)[i * stride];
        break;
    case ELEMENT_I16:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const int16_t *)first)[i * stride];
        break;
    case ELEMENT_I32:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const int32_t *)first)[i * stride];
        break;
    case ELEMENT_I64:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)((const int64_t *)first)[i * stride];
        break;
    case ELEMENT_F16:
        for (int64_t i = 0; i < n; i++)
            out[i] = truth_from_f16(((const uint16_t *)first)[i * stride]);
        break;
    case ELEMENT_BF16:
        for (int64_t i = 0; i < n; i++)
            out[i] = truth_from_bf16(((const uint16_t *)first)[i * stride]);
        break;
    case ELEMENT_F32:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)((const float *)first)[i * stride];
        break;
    case ELEMENT_F64:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const double *)first)[i * stride];
        break;
    case ELEMENT_NONE:
        break;
    }
}

void truth_write_run(DLDataType type, void *first, int64_t stride, int64_t n,
                     const double *in)
{
    assert(element_of(type) != ELEMENT_NONE);
    switch (element_of(type)) {
    case ELEMENT_BOOL:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)first)[i * stride] = in[i] != 0;
        break;
    case ELEMENT_U8:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)first)[i * stride] = (uint8_t)in[i];
        break;
    case ELEMENT_I8:
        for (int64_t i = 0; i < n; i++)
            ((int8_t *)first)[i * stride] = (int8_t)in[i];
        break;
    case ELEMENT_I16:
        for (int64_t i = 0; i < n; i++)
            ((int16_t *)first)[i * stride] = (int16_t)in[i];
        break;
    case ELEMENT_I32:
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)first)[i * stride] = (int32_t)in[i];
        break;
    case ELEMENT_I64:
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)first)[i * stride] = (int64_t)in[i];
        break;
    case ELEMENT_F16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)first)[i * stride] = truth_to_f16(in[i]);
        break;
    case ELEMENT_BF16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)first)[i * stride] = truth_to_bf16(in[i]);
        break;
    case ELEMENT_F32:
        for (int64_t i = 0; i < n; i++)
            ((float *)first)[i * stride] = (float)in[i];
        break;
    case ELEMENT_F64:
        for (int64_t i = 0; i < n; i++)
            ((double *)first)[i * stride] = in[i];
        break;
    case ELEMENT_NONE:
        break;
    }
}

typedef struct span {
    truth_body *body;
    void *user;
    int64_t first, last;
} span;

static void *span_run(void *argument)
{
    const span *s = argument;
    s->body(s->user, s->first, s->last);
    return NULL;
}

void truth_parallel(int64_t n, int64_t threshold, truth_body *body, void *user)
{
    pthread_t thread;
    span upper = {body, user, n / 2, n};
    bool split = n >= threshold && n > 1 &&
                 pthread_create(&thread, NULL, span_run, &upper) == 0;
    body(user, 0, split ? n / 2 : n);
    if (split)
        pthread_join(thread, NULL);
}
