/* sources: runtime/core/life.c runtime/core/arith.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/life.h"

static kiln_buffer buffers[KILN_LIFE_MAX + 1];
static int n;

static void temporary(int64_t bytes, int32_t first, int32_t last)
{
    buffers[n++] = (kiln_buffer){"t", bytes, 0, first, last};
}

static void callers(int64_t bytes, int32_t first, int32_t last)
{
    buffers[n++] = (kiln_buffer){"x", bytes, -1, first, last};
}

static int64_t assign(void)
{
    int64_t total = -1;

    assert_true(kiln_life_assign(buffers, n, &total));
    return total;
}

static int64_t align(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* What must hold of any placement. */
static void check(int64_t total)
{
    int64_t end = 0;
    int64_t sum = 0;

    for (int i = 0; i < n; i++) {
        const kiln_buffer *a = &buffers[i];

        if (a->offset < 0) {
            continue;
        }
        assert_int_equal(a->offset % KILN_WORKSPACE_ALIGN, 0);
        end = a->offset + a->bytes > end ? a->offset + a->bytes : end;
        sum += align(a->bytes);
        for (int j = 0; j < i; j++) {
            const kiln_buffer *b = &buffers[j];

            if (b->offset >= 0 && a->first <= b->last && b->first <= a->last) {
                assert_true(a->offset + a->bytes <= b->offset ||
                            b->offset + b->bytes <= a->offset ||
                            a->bytes == 0 || b->bytes == 0);
            }
        }
    }
    assert_int_equal(total, end);
    assert_true(total <= sum);
}

static uint64_t seed = 2463534242u;

static int64_t below(int64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)limit);
}

static void test_random(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        int count = (int)below(round % 100 == 0 ? KILN_LIFE_MAX + 1 : 24);
        int64_t size = below(3) ? 5000 : INT64_C(1) << 40;

        n = 0;
        for (int i = 0; i < count; i++) {
            int32_t first = (int32_t)below(20);
            int32_t last = first + (int32_t)below(6);

            if (below(6) == 0) {
                callers(below(size), first, last);
            } else {
                temporary(below(8) ? below(size) : 0, first, last);
            }
        }
        check(assign());
        for (int i = 0; i < n; i++) {
            assert_true(buffers[i].offset >= -1);
        }
    }
}

/* The least total of all orders of lowest-fit, for few buffers. */
static void test_known(void **state)
{
    (void)state;
    n = 0;
    assert_int_equal(assign(), 0);
    callers(1000, 0, 9);
    assert_int_equal(assign(), 0);
    assert_int_equal(buffers[0].offset, -1);
    /* A chain: two at a time, each as large as the other. */
    n = 0;
    for (int32_t i = 0; i < 6; i++) {
        temporary(1024, i, i + 1);
    }
    assert_int_equal(assign(), 2048);
    check(2048);
    /* Not alive at once: the larger one's size, not rounded up. */
    n = 0;
    temporary(100, 0, 0);
    temporary(1000, 1, 1);
    temporary(999, 2, 2);
    assert_int_equal(assign(), 1000);
    /* Alive at once: the first rounded up, then the second. */
    n = 0;
    temporary(100, 0, 1);
    temporary(257, 1, 2);
    assert_int_equal(assign(), 512 + 100);
    assert_int_equal(buffers[0].offset, 512);
    assert_int_equal(buffers[1].offset, 0);
    /* A gap between two that live on is filled. */
    n = 0;
    temporary(2048, 0, 1);
    temporary(1024, 0, 9);
    temporary(1024, 2, 9);
    temporary(512, 3, 4);
    temporary(512, 3, 5);
    assert_int_equal(assign(), 3072);
    check(3072);
    /* First and last launch belong to a lifetime. */
    n = 0;
    temporary(256, 0, 3);
    temporary(256, 3, 5);
    assert_int_equal(assign(), 512);
    n = 0;
    temporary(256, 0, 3);
    temporary(256, 4, 5);
    assert_int_equal(assign(), 256);
}

static void test_unused(void **state)
{
    (void)state;
    n = 0;
    temporary(1 << 20, -1, -1);
    temporary(1 << 20, -1, -1);
    assert_int_equal(assign(), 0);
    temporary(100, 0, 2);
    assert_int_equal(assign(), 100);
    assert_int_equal(buffers[0].offset, 0);
    assert_int_equal(buffers[1].offset, 0);
    assert_int_equal(buffers[2].offset, 0);
    temporary(0, 0, 2);
    temporary(0, 1, 1);
    assert_int_equal(assign(), 100);
    n = 0;
    temporary(0, 0, 0);
    assert_int_equal(assign(), 0);
}

static void test_limits(void **state)
{
    const int64_t most = INT64_MAX / 256 * 256; /* 2^63 - 256 */
    int64_t total;

    (void)state;
    n = 0;
    temporary(INT64_MAX, 0, 0);
    assert_int_equal(assign(), INT64_MAX);
    temporary(INT64_MAX, 1, 1);
    assert_int_equal(assign(), INT64_MAX);
    temporary(1, 1, 2);
    assert_false(kiln_life_assign(buffers, n, &total));
    n = 0;
    temporary(most, 0, 0);
    temporary(255, 0, 0);
    assert_int_equal(assign(), INT64_MAX);
    buffers[1].bytes = 256;
    assert_false(kiln_life_assign(buffers, n, &total));
    n = 0;
    for (int i = 0; i < KILN_LIFE_MAX; i++) {
        temporary(1, 0, 0);
    }
    assert_int_equal(assign(), 255 * 256 + 1);
    check(255 * 256 + 1);
    temporary(1, 0, 0);
    assert_false(kiln_life_assign(buffers, n, &total));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_unused),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
