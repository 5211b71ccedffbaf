/* sources: runtime/core/sha256.c */
/* Digests published by NIST: FIPS 180-4's examples (csrc.nist.gov, SHA256.pdf
 * and SHA2_Additional.pdf), and those of each length around a block's end by
 * Python 3's hashlib.
 */
#include "core/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const void *data, size_t n, const char *want)
{
    char hex[65];
    kiln_sha256_hex(data, n, hex);
    assert_string_equal(hex, want);
}

static void test_published(void **state)
{
    static const char two_blocks[] =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char longer[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghi"
                                 "jklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
                                 "lmnopqrsmnopqrstnopqrstu";
    (void)state;
    check(NULL, 0,
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3,
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check(two_blocks, strlen(two_blocks),
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check(longer, strlen(longer),
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    check("\xbd", 1,
          "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

static void test_million_a(void **state)
{
    size_t n = 1000000;
    char *text = malloc(n);
    (void)state;
    assert_non_null(text);
    memset(text, 'a', n);
    check(text, n,
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

/* Zero bytes, of lengths that NIST's additional vectors list. */
static void test_zeros(void **state)
{
    char *zeros = calloc(1, 1000000);
    (void)state;
    assert_non_null(zeros);
    check(zeros, 55,
          "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    check(zeros, 56,
          "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    check(zeros, 57,
          "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
    check(zeros, 64,
          "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
    check(zeros, 1000,
          "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
    check(zeros, 1000000,
          "d29751f2649b32ff572b5e0a9f541ea660a50f94ff0beedfb0b692b924cc8025");
    free(zeros);
}

/* The digest of the digests of 0, 1 ... 129 bytes 0, 1, 2 ..., in hex. */
static void test_every_length(void **state)
{
    unsigned char data[130];
    char all[130 * 64];
    (void)state;
    for (size_t n = 0; n < sizeof data; n++) {
        char hex[65];
        data[n] = (unsigned char)n;
        kiln_sha256_hex(data, n, hex);
        memcpy(all + 64 * n, hex, 64);
    }
    check(all, sizeof all,
          "86ad28dbfd993eaac93b418876265379dced3a4a051fe854038149afd8a13c2c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_million_a),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
