#include "bytes.h"

#include <string.h>

uint8_t bytes_u8(bytes *b)
{
    if (b->n == 0) {
        return 0;
    }
    b->n--;
    return *b->at++;
}

uint64_t bytes_u64(bytes *b)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++) {
        value |= (uint64_t)bytes_u8(b) << (8 * i);
    }
    return value;
}

int64_t bytes_int(bytes *b)
{
    static const int64_t ends[] = {
        INT64_MIN,        INT64_MIN + 1, INT64_MAX, INT32_MAX,
        (int64_t)1 << 53, 65536,         4096,      -1};
    const uint8_t first = bytes_u8(b);

    if (first == 255) {
        return (int64_t)bytes_u64(b);
    }
    if (first >= 240) {
        return ends[first % 8];
    }
    return first < 200 ? first % 40 : (int64_t)first * bytes_u8(b);
}

double bytes_float(bytes *b)
{
    const uint8_t first = bytes_u8(b);
    double value;
    uint64_t bits;

    if (first < 250) {
        return (first - 100) / 8.0;
    }
    bits = bytes_u64(b);
    memcpy(&value, &bits, sizeof value);
    return value;
}
