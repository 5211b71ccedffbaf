/* key_text.c: keys as text, and back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "lookup.h"
#include "space.h"

/* Appends to text of which *used bytes are taken; cuts at cap. */
static void append(char *text, size_t cap, size_t *used, const char *piece)
{
    size_t n = strlen(piece);

    if (*used + 1 >= cap) {
        return;
    }
    if (n > cap - 1 - *used) {
        n = cap - 1 - *used;
    }
    memcpy(text + *used, piece, n);
    *used += n;
    text[*used] = '\0';
}

void kiln_key_dtypes(const kiln_key *key, char *text, size_t cap)
{
    const kiln_op *op = key->op;
    size_t used = 0;
    int first = -1;
    bool same = true;

    text[0] = '\0';
    for (int t = 0; t < op->n_tensors; t++) {
        if (!op->tensors[t].keyed) {
            continue;
        }
        first = first < 0 ? t : first;
        same = same && key->dtypes[t] == key->dtypes[first];
    }
    for (int t = 0; t < op->n_tensors; t++) {
        if (!op->tensors[t].keyed || (same && t != first)) {
            continue;
        }
        append(text, cap, &used, t == first ? "" : "_");
        append(text, cap, &used, kiln_dtype_name(key->dtypes[t]));
    }
}

static void append_baked(char *text, size_t cap, size_t *used,
                         const kiln_key *key)
{
    for (int a = 0; a < key->op->n_attrs; a++) {
        const kiln_op_attr *attr = &key->op->attrs[a];
        char number[32];
        const char *value = number;

        if (!attr->baked) {
            continue;
        }
        (void)snprintf(number, sizeof number, "%lld", (long long)key->baked[a]);
        if (attr->type == KILN_TYPE_STRING && key->baked[a] >= 0 &&
            key->baked[a] < attr->n_choices) {
            value = attr->choices[key->baked[a]];
        }
        append(text, cap, used, " ");
        append(text, cap, used, attr->name);
        append(text, cap, used, "=");
        append(text, cap, used, value);
    }
}

void kiln_group_text(const kiln_key *key, char *text, size_t cap)
{
    size_t used = 0;
    char dtypes[64];

    text[0] = '\0';
    append(text, cap, &used, key->op->name);
    append(text, cap, &used, "/");
    append(text, cap, &used, key->op->routes[key->route].name);
    kiln_key_dtypes(key, dtypes, sizeof dtypes);
    append(text, cap, &used, dtypes[0] != '\0' ? " " : "");
    append(text, cap, &used, dtypes);
    append_baked(text, cap, &used, key);
    if (key->op->space != KILN_SPACE_NONE) {
        append(text, cap, &used, " ");
        append(text, cap, &used, kiln_layout_name(key->layout));
    }
    if (key->classes & KILN_CLASS_ALIGN) {
        append(text, cap, &used, key->align_log2 ? " align16" : " align1");
    }
    if (key->classes & KILN_CLASS_WIDE) {
        append(text, cap, &used, key->wide ? " o64" : " o32");
    }
}

void kiln_key_ranges(const kiln_tables *tables, const kiln_key *key,
                     const int *positions, char *text, size_t cap)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_axis *axis = &key->op->axes[i];
        char piece[96];
        int64_t low, high;

        kiln_ladder_range(&tables->ladders[axis->ladder], positions[i], &low,
                          &high);
        (void)snprintf(piece, sizeof piece, "%s%.40s=%lld..%lld",
                       i > 0 ? " " : "", axis->name, (long long)low + 1,
                       (long long)high);
        append(text, cap, &used, piece);
    }
}

void kiln_key_text(const kiln_tables *tables, const kiln_key *key,
                   const int *positions, char *text, size_t cap)
{
    size_t used;

    kiln_group_text(key, text, cap);
    used = strlen(text);
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_axis *axis = &key->op->axes[i];
        char number[80];
        int64_t low, high;

        if (positions[i] < 0) {
            (void)snprintf(number, sizeof number, " %.40s=%s%lld", axis->name,
                           key->size[i] > 0 ? ">" : "",
                           (long long)key->size[i]);
        } else {
            kiln_ladder_range(&tables->ladders[axis->ladder], positions[i],
                              &low, &high);
            (void)snprintf(number, sizeof number, " %.40s=%lld", axis->name,
                           (long long)high);
        }
        append(text, cap, &used, number);
    }
}

/* --- reading -------------------------------------------------------------- */

/* What is left of a key's text, word by word. */
typedef struct reader {
    const char *word;
    size_t length; /* of word; 0 at the end */
    char *why;
    size_t cap;
} reader;

static void next_word(reader *r)
{
    r->word += r->length;
    r->word += strspn(r->word, " ");
    r->length = strcspn(r->word, " ");
}

static bool fail(const reader *r, const char *expected)
{
    (void)snprintf(r->why, r->cap, "expected %s%s%.*s", expected,
                   r->length > 0 ? ", not " : " at its end", (int)r->length,
                   r->word);
    return false;
}

static bool is_word(const reader *r, const char *text)
{
    return strlen(text) == r->length && memcmp(text, r->word, r->length) == 0;
}

/* The word after NAME=, or NULL. */
static const char *value_of(const reader *r, const char *name)
{
    size_t n = strlen(name);

    return r->length > n + 1 && memcmp(r->word, name, n) == 0 &&
                   r->word[n] == '='
               ? r->word + n + 1
               : NULL;
}

static bool read_variant(reader *r, const kiln_tables *tables, kiln_key *key)
{
    char name[64];
    const char *slash = memchr(r->word, '/', r->length);
    int index;
    reader variant = *r;

    if (slash == NULL || (size_t)(slash - r->word) >= sizeof name) {
        return fail(r, "OP/VARIANT");
    }
    memcpy(name, r->word, (size_t)(slash - r->word));
    name[slash - r->word] = '\0';
    key->op = kiln_find_op(tables, name, &index);
    if (key->op == NULL) {
        return fail(r, "an op that is known");
    }
    variant.word = slash + 1;
    variant.length = r->length - (size_t)(slash + 1 - r->word);
    for (int i = 0; i < key->op->n_routes; i++) {
        if (!key->op->routes[i].composite &&
            is_word(&variant, key->op->routes[i].name)) {
            key->route = i;
            next_word(r);
            return true;
        }
    }
    return fail(r, "a variant of the op");
}

/* An absent tensor's is none. */
static kiln_dtype parse_dtype(const char *text, int n)
{
    const char *none = kiln_dtype_name(KILN_NONE);

    return n == (int)strlen(none) && memcmp(none, text, (size_t)n) == 0
               ? KILN_NONE
               : kiln_dtype_parse(text, n);
}

/* Whether they are written as kiln_key_dtypes does: once, when all alike. */
static bool is_shortest(const reader *r, const kiln_key *key)
{
    char dtypes[64];

    kiln_key_dtypes(key, dtypes, sizeof dtypes);
    return is_word(r, dtypes);
}

/* One dtype for all keyed tensors, or one for each, joined by "_". */
static bool read_dtypes(reader *r, kiln_key *key)
{
    const char *at = r->word;
    const char *end = r->word + r->length;
    kiln_dtype dtype = KILN_DTYPE_COUNT;
    bool any = false;

    for (int t = 0; t < key->op->n_tensors; t++) {
        const char *stop;

        if (!key->op->tensors[t].keyed) {
            continue;
        }
        if (!any || memchr(r->word, '_', r->length) != NULL) {
            stop = memchr(at, '_', (size_t)(end - at));
            stop = stop != NULL ? stop : end;
            dtype = parse_dtype(at, (int)(stop - at));
            at = stop < end ? stop + 1 : stop;
        }
        if (dtype == KILN_DTYPE_COUNT) {
            return fail(r, "dtypes, such as f16 or f16_f32");
        }
        key->dtypes[t] = (uint8_t)dtype;
        any = true;
    }
    if (any && (at != end || r->length == 0 || !is_shortest(r, key))) {
        return fail(r, "a dtype for each keyed tensor");
    }
    if (any) {
        next_word(r);
    }
    return true;
}

/* A whole number as "%lld" writes it, and no more, in n bytes. */
static bool read_number(const char *text, size_t n, int64_t *value)
{
    char again[32];
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 10);
    return end == text + n && errno == 0 && n < sizeof again &&
           snprintf(again, sizeof again, "%lld", (long long)*value) == (int)n &&
           memcmp(again, text, n) == 0;
}

/* A choice of a string attribute, else a whole number. */
static bool read_value(const kiln_op_attr *attr, const char *text, size_t n,
                       int64_t *value)
{
    if (attr->type != KILN_TYPE_STRING) {
        return read_number(text, n, value);
    }
    for (int c = 0; c < attr->n_choices; c++) {
        if (strlen(attr->choices[c]) == n &&
            memcmp(attr->choices[c], text, n) == 0) {
            *value = c;
            return true;
        }
    }
    return false;
}

static bool read_baked(reader *r, kiln_key *key)
{
    for (int a = 0; a < key->op->n_attrs; a++) {
        const kiln_op_attr *attr = &key->op->attrs[a];
        const char *text = value_of(r, attr->name);

        if (!attr->baked) {
            continue;
        }
        if (text == NULL ||
            !read_value(attr, text, (size_t)(r->word + r->length - text),
                        &key->baked[a])) {
            char expected[80];

            (void)snprintf(expected, sizeof expected, "%.40s=VALUE",
                           attr->name);
            return fail(r, expected);
        }
        next_word(r);
    }
    return true;
}

static bool read_classes(reader *r, kiln_key *key)
{
    if (key->op->space != KILN_SPACE_NONE) {
        key->layout = 0;
        while (key->layout < KILN_LAYOUT_COUNT &&
               !is_word(r, kiln_layout_name(key->layout))) {
            key->layout++;
        }
        if (key->layout == KILN_LAYOUT_COUNT) {
            return fail(r, "contiguous, inner or general");
        }
        next_word(r);
    }
    if (key->classes & KILN_CLASS_ALIGN) {
        key->align_log2 = is_word(r, "align16") ? KILN_VECTOR_LOG2 : 0;
        if (key->align_log2 == 0 && !is_word(r, "align1")) {
            return fail(r, "align16 or align1");
        }
        next_word(r);
    }
    if (key->classes & KILN_CLASS_WIDE) {
        key->wide = is_word(r, "o64");
        if (!key->wide && !is_word(r, "o32")) {
            return fail(r, "o32 or o64");
        }
        next_word(r);
    }
    return true;
}

/* The position whose upper edge is exactly v, or -1. */
static int position_at(const kiln_ladder *ladder, int64_t v)
{
    int exact = kiln_ladder_census(ladder, v);
    int bucket = kiln_ladder_bucket(ladder, v);

    if (exact >= 0) {
        return exact | KILN_CENSUS_BIT;
    }
    return bucket >= 0 && ladder->edges[bucket] == v ? bucket : -1;
}

static bool read_sizes(reader *r, const kiln_tables *tables, kiln_key *key,
                       int *positions)
{
    for (int i = 0; i < key->op->n_axes; i++) {
        const kiln_axis *axis = &key->op->axes[i];
        const char *text = value_of(r, axis->name);
        bool beyond = text != NULL && *text == '>';

        if (text == NULL ||
            !read_number(text + beyond,
                         (size_t)(r->word + r->length - text - beyond),
                         &key->size[i])) {
            char expected[80];

            (void)snprintf(expected, sizeof expected, "%.40s=SIZE", axis->name);
            return fail(r, expected);
        }
        positions[i] =
            beyond ? -1
                   : position_at(&tables->ladders[axis->ladder], key->size[i]);
        next_word(r);
    }
    return r->length == 0 || fail(r, "no more");
}

bool kiln_key_parse(const kiln_tables *tables, const kiln_arch *arch,
                    const char *text, kiln_key *key, int *positions, char *why,
                    size_t cap)
{
    reader r = {text, 0, why, cap};

    memset(key, 0, sizeof *key);
    key->classes = arch->classes;
    next_word(&r);
    if (!read_variant(&r, tables, key) || !read_dtypes(&r, key) ||
        !read_baked(&r, key) || !read_classes(&r, key) ||
        !read_sizes(&r, tables, key, positions)) {
        return false;
    }
    return kiln_group_pack(key, &key->group) || fail(&r, "values that fit");
}
