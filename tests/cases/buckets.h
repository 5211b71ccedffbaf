/* buckets.h: what the cases of bucket edges share. */
#ifndef KILN_TESTS_BUCKETS_H
#define KILN_TESTS_BUCKETS_H

#include "cases.h"

#define BUCKETS_EDGES 64
#define BUCKETS_SIZES (3 * BUCKETS_EDGES + 3)
#define BUCKETS_GENERAL 16384 /* most elements of layouts with gaps */
#define BUCKETS_DTYPES 4

typedef struct buckets_dtype {
    const char *name;
    int64_t size;
} buckets_dtype;

extern const buckets_dtype buckets_dtypes[BUCKETS_DTYPES];

typedef struct ladder {
    int64_t edges[BUCKETS_EDGES];
    int n;
} ladder;

typedef struct bench {
    ladder elements, rows, cols;
    int64_t cap; /* most elements of a call that is run */
    int64_t
        lattice_bytes; /* of a call's largest tensor, by its bucket's edge */
    kiln_context *contexts[2]; /* the second may be NULL */
    trial trial;
    int64_t calls;
    char problem[2048];
} bench;

/* The upper edge of the bucket that holds size; 0 past the last. */
int64_t buckets_edge(const ladder *l, int64_t size);
int64_t buckets_last(const ladder *l);
/* 1, 2, 3 and all edges with their neighbours, up to `most`; the count. */
int buckets_sizes(const ladder *l, int64_t most, int64_t *sizes);

bool buckets_fail(bench *b, const char *text, const char *what,
                  const char *got);
/* Plans alone. key: that of its first launch, or the text of the refusal. */
kiln_status buckets_plan(kiln_context *ctx, const char *text, char *key,
                         size_t cap);
/* Whether the key names the bucket that holds size. A census cell's edge is
 * none of the ladder's, and not below size. */
bool buckets_holds(const char *key, const char *axis, const ladder *l,
                   int64_t size);
/* The call is uncertified, and the text of that says name. */
bool buckets_refused(bench *b, const char *text, const char *name);
/* Runs the call on every ISA under guard pages and holds it to the truth. */
bool buckets_call(bench *b, const char *text);

void buckets_map(tally *all, bench *b);
void buckets_rows(tally *all, bench *b);

#endif /* KILN_TESTS_BUCKETS_H */
