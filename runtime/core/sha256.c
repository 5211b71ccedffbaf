/* sha256.c: SHA-256. Section numbers and names of FIPS 180-4 (August 2015),
 * https://doi.org/10.6028/NIST.FIPS.180-4
 */
#include "sha256.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 64

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the
 * first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load_be(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           (uint32_t)p[3];
}

/* 6.2.2, step 1: the message schedule. */
static void schedule(uint32_t w[64], const unsigned char *block)
{
    for (int t = 0; t < 16; t++) {
        w[t] = load_be(block + 4 * t);
    }
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15];
        uint32_t b = w[t - 2];
        uint32_t s0 = rotr(a, 7) ^ rotr(a, 18) ^ a >> 3;
        uint32_t s1 = rotr(b, 17) ^ rotr(b, 19) ^ b >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* 6.2.2, step 3. The working variables a to h do not move; their places
 * turn by r, the round's number modulo 8. */
static inline void turn(uint32_t s[8], int r, uint32_t k_and_w)
{
    uint32_t a = s[-r & 7], b = s[(1 - r) & 7], c = s[(2 - r) & 7];
    uint32_t e = s[(4 - r) & 7], f = s[(5 - r) & 7], g = s[(6 - r) & 7];
    uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
    uint32_t t1 = s[(7 - r) & 7] + sum1 + ((e & f) ^ (~e & g)) + k_and_w;
    uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
    uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    s[(3 - r) & 7] += t1;
    s[(7 - r) & 7] = t1 + t2;
}

/* 6.2.2, steps 2 to 4. Written out so that s stays in registers. */
static void compress(uint32_t hash[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t s[8];
    schedule(w, block);
    memcpy(s, hash, sizeof s);
    for (int t = 0; t < 64; t += 8) {
        turn(s, 0, K[t] + w[t]);
        turn(s, 1, K[t + 1] + w[t + 1]);
        turn(s, 2, K[t + 2] + w[t + 2]);
        turn(s, 3, K[t + 3] + w[t + 3]);
        turn(s, 4, K[t + 4] + w[t + 4]);
        turn(s, 5, K[t + 5] + w[t + 5]);
        turn(s, 6, K[t + 6] + w[t + 6]);
        turn(s, 7, K[t + 7] + w[t + 7]);
    }
    for (int i = 0; i < 8; i++) {
        hash[i] += s[i];
    }
}

/* 5.1.1: a one bit, zeros, and the length in bits as a 64-bit number. */
static void finish(uint32_t hash[8], const unsigned char *rest, size_t n_rest,
                   uint64_t n_bytes)
{
    unsigned char last[2 * BLOCK] = {0};
    size_t size = n_rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    if (n_rest > 0) {
        memcpy(last, rest, n_rest);
    }
    last[n_rest] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        last[size - 1 - i] = (unsigned char)(n_bytes * 8 >> (8 * i));
    }
    for (size_t at = 0; at < size; at += BLOCK) {
        compress(hash, last + at);
    }
}

void kiln_sha256_hex(const void *data, size_t n, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    /* 5.3.3: the fractional parts of the square roots of eight primes. */
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *bytes = data;
    size_t at = 0;
    assert(data != NULL || n == 0);
    for (; n - at >= BLOCK; at += BLOCK) {
        compress(hash, bytes + at);
    }
    finish(hash, n > at ? bytes + at : NULL, n - at, (uint64_t)n);
    for (int i = 0; i < 64; i++) {
        hex[i] = digits[hash[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
    hex[64] = '\0';
}
