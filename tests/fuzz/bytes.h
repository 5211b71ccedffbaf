/* bytes.h: values taken from a fuzzer's input, from its front; 0 at its end. */
#ifndef KILN_TESTS_BYTES_H
#define KILN_TESTS_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct bytes {
    const uint8_t *at;
    size_t n;
} bytes;

uint8_t bytes_u8(bytes *b);
/* Eight bytes, or fewer where the input ends. */
uint64_t bytes_u64(bytes *b);
/* Mostly small, at times an end of int64 or of a float's exact range. */
int64_t bytes_int(bytes *b);
double bytes_float(bytes *b);

#endif /* KILN_TESTS_BYTES_H */
