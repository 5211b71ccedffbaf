/* buckets_rows.c: softmax and log_softmax at the edges of rows and columns. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buckets.h"

#define COMPOSITE_MOST 4097 /* columns of log_softmax */

/* A call on M rows of N; layout 0: row-major, 1: rows apart, 2: elements
 * apart, 3: along dim 0 of [N, M]. */
static void call_text(const char *op, int from, int to, int layout, int64_t m,
                      int64_t n, const char *attrs, char *text, size_t cap)
{
    const char *x = buckets_dtypes[from].name, *y = buckets_dtypes[to].name;
    char shape[128];

    switch (layout) {
    case 0:
        snprintf(shape, sizeof shape, "[%" PRId64 ",%" PRId64 "]", m, n);
        break;
    case 1:
        snprintf(shape, sizeof shape,
                 "[%" PRId64 ",%" PRId64 "]:[%" PRId64 ",1]", m, n, n + 5);
        break;
    case 2:
        snprintf(shape, sizeof shape,
                 "[%" PRId64 ",%" PRId64 "]:[%" PRId64 ",2]", m, n, 2 * n + 1);
        break;
    default:
        snprintf(shape, sizeof shape, "[%" PRId64 ",%" PRId64 "]", n, m);
        break;
    }
    snprintf(text, cap, "%s x=%s%s y=%s%s dim=%d%s", op, x, shape, y, shape,
             layout == 3 ? 0 : 1, attrs);
}

/* Dtypes of x and y: alike, or y f32. */
static bool has_pair(int from, int to)
{
    return from == to || to == 2;
}

static bool run_size(bench *b, int from, int to, const char *attrs, int64_t m,
                     int64_t n)
{
    const int layouts = m * n <= BUCKETS_GENERAL ? 4 : 1;
    char text[CALL_TEXT], key[512];

    for (int layout = 0; layout < layouts; layout++) {
        call_text("softmax", from, to, layout, m, n, attrs, text, sizeof text);
        if (!buckets_call(b, text)) {
            return false;
        }
        if (buckets_plan(b->contexts[0], text, key, sizeof key) != KILN_OK ||
            !buckets_holds(key, "M", &b->rows, m) ||
            !buckets_holds(key, "N", &b->cols, n)) {
            return buckets_fail(b, text, "another bucket", key);
        }
    }
    return true;
}

/* Whether a call that small or, where the truth is quick enough, of one row
 * or one column is run. */
static bool is_run(const bench *b, int from, int to, int64_t m, int64_t n)
{
    return m * n <= b->cap || (b->cap > BUCKETS_GENERAL &&
                               (m == 1 || (n == 1 && from == to)) && from == 2);
}

/* Every N with few rows, every M with few columns. */
static bool run_sizes(bench *b, int from, int to, const char *attrs)
{
    static const int64_t few[] = {1, 2, 3, 17};
    int64_t rows[BUCKETS_SIZES], cols[BUCKETS_SIZES];
    int n_rows = buckets_sizes(&b->rows, buckets_last(&b->rows), rows);
    int n_cols = buckets_sizes(&b->cols, buckets_last(&b->cols), cols);
    bool good = true;

    for (int i = 0; i < 4 * (n_rows + n_cols) && good; i++) {
        bool wide = i / 4 < n_cols;
        int64_t m = wide ? few[i % 4] : rows[i / 4 - n_cols];
        int64_t n = wide ? cols[i / 4] : few[i % 4];

        good = !is_run(b, from, to, m, n) || run_size(b, from, to, attrs, m, n);
    }
    return good;
}

/* One more than the last edge, and ten times as many. */
static bool check_past(bench *b, int from, int to, const char *attrs)
{
    const int64_t m = buckets_last(&b->rows), n = buckets_last(&b->cols);
    const int64_t past[][2] = {
        {1, n + 1}, {1, 10 * n}, {m + 1, 1}, {10 * m, 1}, {10 * m, 10 * n}};
    char text[CALL_TEXT];
    bool good = true;

    for (int i = 0; i < 5 && good; i++) {
        call_text("softmax", from, to, 0, past[i][0], past[i][1], attrs, text,
                  sizeof text);
        good = buckets_refused(b, text, "softmax/");
    }
    return good;
}

/* Whether the lattice declares M by N: the corner of its buckets is within
 * the limit. */
static bool is_declared(const bench *b, int from, int64_t m, int64_t n)
{
    int64_t corner = buckets_edge(&b->rows, m) * buckets_edge(&b->cols, n);

    return corner > 0 && corner * buckets_dtypes[from].size <= b->lattice_bytes;
}

/* Every M with every N, planned: served by the key of their buckets, or
 * refused where nothing is declared. */
static bool plan_grid(bench *b, int from, int to, const char *attrs)
{
    int64_t rows[BUCKETS_SIZES], cols[BUCKETS_SIZES];
    int n_rows = buckets_sizes(&b->rows, INT64_MAX, rows);
    int n_cols = buckets_sizes(&b->cols, INT64_MAX, cols);
    char text[CALL_TEXT], key[4096];

    for (int i = 0; i < n_rows * n_cols; i++) {
        int64_t m = rows[i / n_cols], n = cols[i % n_cols];
        bool declared = is_declared(b, from, m, n);
        call_text("softmax", from, to, 0, m, n, attrs, text, sizeof text);
        kiln_status status =
            buckets_plan(b->contexts[0], text, key, sizeof key);

        b->calls++;
        if (status == KILN_OK ? !buckets_holds(key, "M", &b->rows, m) ||
                                    !buckets_holds(key, "N", &b->cols, n)
                              : declared || status != KILN_UNCERTIFIED ||
                                    !strstr(key, "softmax/")) {
            return buckets_fail(b, text, kiln_status_name(status), key);
        }
    }
    return true;
}

static bool check_pair(bench *b, int from, int to)
{
    return run_sizes(b, from, to, "") && run_sizes(b, from, to, " log=true") &&
           check_past(b, from, to, "") && plan_grid(b, from, to, "") &&
           plan_grid(b, from, to, " log=true");
}

static bool check_composite(bench *b)
{
    int64_t sizes[BUCKETS_SIZES];
    int n = buckets_sizes(&b->cols, COMPOSITE_MOST, sizes);
    char text[CALL_TEXT];
    bool good = true;

    for (int i = 0; i < n * BUCKETS_DTYPES && good; i++) {
        call_text("log_softmax", i / n, i / n, i % 4, 3, sizes[i % n], "", text,
                  sizeof text);
        good = buckets_call(b, text);
    }
    call_text("log_softmax", 0, 0, 0, 1, 10 * buckets_last(&b->cols), "", text,
              sizeof text);
    return good && buckets_refused(b, text, "softmax/");
}

void buckets_rows(tally *all, bench *b)
{
    char name[128];
    bool good;

    for (int i = 0; i < BUCKETS_DTYPES * BUCKETS_DTYPES; i++) {
        int from = i / BUCKETS_DTYPES, to = i % BUCKETS_DTYPES;

        if (!has_pair(from, to)) {
            continue;
        }
        b->calls = 0;
        good = check_pair(b, from, to);
        snprintf(name, sizeof name,
                 "bucket-boundaries: softmax %s to %s, %" PRId64 " calls",
                 buckets_dtypes[from].name, buckets_dtypes[to].name, b->calls);
        tally_add(all, good, name, b->problem);
    }
    b->calls = 0;
    good = check_composite(b);
    snprintf(name, sizeof name,
             "bucket-boundaries: log_softmax, %" PRId64 " calls", b->calls);
    tally_add(all, good, name, b->problem);
}
