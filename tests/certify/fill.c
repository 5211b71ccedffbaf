#include "fill.h"

#include <math.h>
#include <string.h>

#define RUN 1024
#define RAW_PERIOD 65536
#define THREAD_ELEMENTS 65536

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014, as a function of a counter. */
static uint64_t mix(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed + (counter + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* The sum of four uniform numbers (Irwin-Hall), centred, of variance 1. */
static double normal(uint64_t bits)
{
    double sum = 0;
    for (int i = 0; i < 64; i += 16)
        sum += (double)(bits >> i & 0xFFFF);
    return (sum - 2 * 65535.0) * (1.7320508075688772 / 65536);
}

typedef struct job job;
typedef double value_fn(const job *j, int64_t index);

struct job {
    const DLTensor *tensor;
    value_fn *value;
    uint64_t seed;
    double scale;
    double least; /* subnormal */
    double least_normal;
    double most;
    const double *factors; /* of cancelling inputs; NULL for the first */
    int n_factors;
    int64_t length; /* of a row */
    int64_t step;   /* row-major index between a row's elements */
};

/* Integers and bools take what is left of a value after conversion. */
static double to_type(const DLTensor *t, double value)
{
    if (t->dtype.code == kDLBool)
        return value > 0;
    if (t->dtype.code == kDLInt)
        return isfinite(value) ? fmax(-100, fmin(100, value)) : 0;
    if (t->dtype.code == kDLUInt)
        return isfinite(value) ? fmin(100, fabs(value)) : 0;
    return value;
}

static void job_range(void *user, int64_t first, int64_t last)
{
    const job *j = user;
    const DLTensor *t = j->tensor;
    int64_t width = t->ndim ? t->shape[t->ndim - 1] : 1;
    int64_t step = t->ndim && t->strides ? t->strides[t->ndim - 1] : 1;
    double values[RUN];
    while (first < last) {
        int64_t n = width - first % width;
        n = n < RUN ? n : RUN;
        n = n < last - first ? n : last - first;
        for (int64_t i = 0; i < n; i++)
            values[i] = to_type(t, j->value(j, first + i));
        char *to = (char *)t->data + t->byte_offset +
                   truth_offset(t, first) * truth_size(t->dtype);
        truth_write_run(t->dtype, to, step, n, values);
        first += n;
    }
}

static void fill(job *j)
{
    DLDataType type = j->tensor->dtype;
    bool is_float = type.code == kDLFloat || type.code == kDLBfloat;
    if (is_float) {
        int precision = type.code == kDLBfloat ? 8
                        : type.bits == 16      ? 11
                        : type.bits == 32      ? 24
                                               : 53;
        double fraction = ldexp(1, precision) - 1;
        j->least = truth_ulp(type, 0);
        j->least_normal = j->least * ldexp(1, precision - 1);
        j->most = truth_ulp(type, INFINITY) * fraction;
    }
    truth_parallel(truth_numel(j->tensor), THREAD_ELEMENTS, job_range, j);
}

/* --- kinds ---------------------------------------------------------------- */

static double value_normal(const job *j, int64_t index)
{
    return j->scale * normal(mix(j->seed, (uint64_t)index));
}

void fill_normal(const DLTensor *tensor, double scale, uint64_t seed)
{
    job j = {.tensor = tensor, .value = value_normal, .seed = seed};
    j.scale = scale;
    fill(&j);
}

static double value_special(const job *j, int64_t index)
{
    uint64_t bits = mix(j->seed, (uint64_t)index);
    const double list[] = {
        0.0,
        INFINITY,
        NAN,
        j->least,
        j->least_normal - j->least,
        j->least_normal,
        j->most,
        0.5,
        1,
        10,
        1e4,
        88.72,
        90,
        103.9,
        709.7,
        720,
        745.1,
        1 + 0x1p-11, /* ties of f16 */
        2049,
        1 + 0x1p-8, /* ties of bf16 */
        257,
        0.7978845608,
    };
    size_t count = sizeof list / sizeof *list;
    if (bits & 1)
        return 8 * normal(mix(j->seed, bits));
    double value = list[(bits >> 2) % count];
    return bits & 2 ? -value : value;
}

void fill_special(const DLTensor *tensor, uint64_t seed)
{
    job j = {.tensor = tensor, .value = value_special, .seed = seed};
    fill(&j);
}

/* Large ones go half as far again, so that a product overflows by which the
 * sum does not. */
static double value_cancelling(const job *j, int64_t index)
{
    uint64_t bits = mix(j->seed, (uint64_t)index);
    uint64_t choice = mix(j->seed, bits);
    bool large = choice % 8 == 0;
    double value = 4 * normal(bits);
    if (large)
        value = (value < 0 ? -0.75 : 0.75) * j->most;
    if (!j->factors)
        return value;
    double factor = j->factors[(choice >> 4) % (uint64_t)j->n_factors];
    double other = value / factor * (large ? 1.5 : 1);
    return choice & 8 ? other : -other;
}

void fill_cancelling(const DLTensor *tensor, bool is_first,
                     const double *factors, int n, uint64_t seed)
{
    job j = {.tensor = tensor, .value = value_cancelling, .seed = seed};
    j.factors = is_first ? NULL : factors;
    j.n_factors = n;
    fill(&j);
}

static double value_row(const job *j, int64_t index)
{
    uint64_t bits = mix(j->seed, (uint64_t)index);
    double value = 3 * normal(bits);
    int64_t row = index / (j->step * j->length) * j->step + index % j->step;
    int64_t place = index / j->step % j->length;
    /* where the one odd element of a row is: anywhere, its ends too */
    uint64_t row_bits = mix(~j->seed, (uint64_t)row);
    bool odd = place == (int64_t)(row_bits % (uint64_t)j->length);
    const double tiny[] = {0.0, -0.0, j->least, -j->least_normal, j->most};
    switch (((uint64_t)row + j->seed) % 8) {
    case 1:
        return bits % 3 == 0 && !odd ? -INFINITY : value;
    case 2:
        return -INFINITY;
    case 3:
        return odd ? NAN : value;
    case 4:
        return 1e4 + value;
    case 5:
        return tiny[bits % (odd ? 5 : 4)];
    case 6:
        return odd ? INFINITY : value;
    case 7:
        return 1.5;
    default:
        return value;
    }
}

/* In turn: one 0 among terms that a sum near 1 rounds away one by one, and a
 * row that ascends so slowly that every part of its sum counts. */
static double value_steep(const job *j, int64_t index)
{
    int64_t row = index / (j->step * j->length) * j->step + index % j->step;
    int64_t place = index / j->step % j->length;
    uint64_t row_bits = mix(~j->seed, (uint64_t)row);
    double low = truth_size(j->tensor->dtype) == 8 ? -37 : -17;

    if (((uint64_t)row + j->seed) % 2)
        return 0.5 * (double)place / (double)j->length;
    return place == (int64_t)(row_bits % (uint64_t)j->length) ? 0 : low;
}

static void fill_along(job j, int64_t dim)
{
    const DLTensor *tensor = j.tensor;
    int rank = tensor->ndim;
    dim = dim < 0 ? dim + rank : dim;
    j.length = dim >= 0 && dim < rank ? tensor->shape[dim] : 1;
    j.step = 1;
    for (int d = (int)dim + 1; d < rank; d++)
        j.step *= tensor->shape[d];
    if (truth_numel(tensor) > 0)
        fill(&j);
}

void fill_rows(const DLTensor *tensor, int64_t dim, uint64_t seed)
{
    fill_along((job){.tensor = tensor, .value = value_row, .seed = seed}, dim);
}

void fill_steep(const DLTensor *tensor, int64_t dim, uint64_t seed)
{
    fill_along((job){.tensor = tensor, .value = value_steep, .seed = seed},
               dim);
}

void fill_raw(DLDataType type, void *data, int64_t n, uint64_t seed)
{
    int64_t size = truth_size(type);
    int64_t head = n < RAW_PERIOD ? n : RAW_PERIOD;
    DLTensor t = {.data = data, .ndim = 1, .dtype = type, .shape = &head};
    fill_normal(&t, 1, seed);
    char *bytes = data;
    for (int64_t done = head; done < n; done += head) {
        int64_t count = head < n - done ? head : n - done;
        memcpy(bytes + done * size, bytes, (size_t)(count * size));
    }
}
