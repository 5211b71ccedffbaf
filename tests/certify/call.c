#include "call.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    call *c;
    char *why;
    size_t cap;
} parser;

static bool fail(const parser *p, const char *word, const char *problem)
{
    snprintf(p->why, p->cap, "call \"%.200s\": %.60s: %s", p->c->text, word,
             problem);
    return false;
}

/* --- dtypes --------------------------------------------------------------- */

bool call_dtype(const char *name, size_t n, DLDataType *type)
{
    static const struct {
        const char *name;
        DLDataType type;
    } all[] = {
        {"bool", {kDLBool, 8, 1}},  {"u8", {kDLUInt, 8, 1}},
        {"i8", {kDLInt, 8, 1}},     {"i16", {kDLInt, 16, 1}},
        {"i32", {kDLInt, 32, 1}},   {"i64", {kDLInt, 64, 1}},
        {"f16", {kDLFloat, 16, 1}}, {"bf16", {kDLBfloat, 16, 1}},
        {"f32", {kDLFloat, 32, 1}}, {"f64", {kDLFloat, 64, 1}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == n && strncmp(all[i].name, name, n) == 0) {
            *type = all[i].type;
            return true;
        }
    return false;
}

/* --- tensors -------------------------------------------------------------- */

static bool parse_int(const char **at, int64_t *value)
{
    char *end;
    errno = 0;
    long long v = strtoll(*at, &end, 10);
    if (end == *at || errno || isspace((unsigned char)**at))
        return false;
    *value = v;
    *at = end;
    return true;
}

/* "[1,2,3]"; returns the count or -1. */
static int parse_list(const char **at, int64_t *values)
{
    int n = 0;
    if (**at != '[')
        return -1;
    ++*at;
    while (**at != ']') {
        if (n == CALL_MAX_RANK || !parse_int(at, &values[n++]))
            return -1;
        if (**at == ',' && (*at)[1] != ']')
            ++*at;
        else if (**at != ']')
            return -1;
    }
    ++*at;
    return n;
}

static bool pack_strides(call_tensor *t)
{
    int64_t stride = 1;
    for (int d = t->tensor.ndim - 1; d >= 0; d--) {
        t->strides[d] = stride;
        int64_t size = t->shape[d] ? t->shape[d] : 1;
        if (stride > INT64_MAX / 8 / size)
            return false;
        stride *= size;
    }
    return true;
}

static bool parse_shape(const parser *p, call_tensor *t, const char *word,
                        const char **at)
{
    int n = parse_list(at, t->shape);
    if (n < 0)
        return fail(p, word, "dims are written [2,3]");
    for (int d = 0; d < n; d++)
        if (t->shape[d] < 0)
            return fail(p, word, "a dim is negative");
    t->tensor.ndim = n;
    t->tensor.shape = t->shape;
    t->tensor.strides = t->strides;
    if (!pack_strides(t))
        return fail(p, word, "too many elements");
    return true;
}

static bool parse_place(const parser *p, call_tensor *t, const char *word,
                        const char **at)
{
    int64_t offset = 0;
    if (**at == ':') {
        ++*at;
        if (parse_list(at, t->strides) != t->tensor.ndim)
            return fail(p, word, "strides are written :[3,1], one a dim");
    }
    if (**at == '+') {
        ++*at;
        if (!parse_int(at, &offset) || offset < 0)
            return fail(p, word, "an offset is written +8");
    }
    t->tensor.byte_offset = (uint64_t)(offset * truth_size(t->tensor.dtype));
    return true;
}

/* word is "NAME\0", value "f32[2,3]:[3,1]+8". */
static bool parse_tensor(const parser *p, const char *name, const char *value)
{
    call *c = p->c;
    if (c->n_tensors == CALL_MAX_TENSORS)
        return fail(p, name, "too many tensors");
    call_tensor *t = &c->tensors[c->n_tensors];
    *t = (call_tensor){.name = name};
    t->tensor.device = (DLDevice){kDLCPU, 0};
    const char *at = value + strcspn(value, "[");
    if (!call_dtype(value, (size_t)(at - value), &t->tensor.dtype))
        return fail(p, name,
                    "the dtype is none of bool u8 i8 i16 i32 i64 f16 bf16 "
                    "f32 f64");
    if (!parse_shape(p, t, name, &at) || !parse_place(p, t, name, &at))
        return false;
    if (*at)
        return fail(p, name, "text follows the tensor");
    c->list[c->n_tensors++] = &t->tensor;
    return true;
}

static bool add_absent(const parser *p, const char *name)
{
    call *c = p->c;
    if (c->n_tensors == CALL_MAX_TENSORS)
        return fail(p, name, "too many tensors");
    c->tensors[c->n_tensors] = (call_tensor){.name = name};
    c->list[c->n_tensors++] = NULL;
    return true;
}

/* --- attributes ----------------------------------------------------------- */

static bool is_number(const char *text)
{
    text += *text == '-' || *text == '+';
    return isdigit((unsigned char)*text) ||
           (*text == '.' && isdigit((unsigned char)text[1]));
}

static bool parse_number(kiln_attr *attr, const char *value)
{
    char *end;
    errno = 0;
    if (strpbrk(value, ".eE")) {
        attr->kind = KILN_ATTR_FLOAT;
        attr->value.f = strtod(value, &end);
    } else {
        attr->kind = KILN_ATTR_INT;
        attr->value.i = strtoll(value, &end, 10);
    }
    return *end == '\0' && errno == 0;
}

static bool parse_attr(const parser *p, const char *name, char *value)
{
    call *c = p->c;
    size_t n = strlen(value);
    if (c->n_attrs == CALL_MAX_ATTRS)
        return fail(p, name, "too many attributes");
    kiln_attr *attr = &c->attrs[c->n_attrs++];
    *attr = (kiln_attr){.name = name, .kind = KILN_ATTR_STRING};
    attr->value.s = value;
    if (is_number(value))
        return parse_number(attr, value) || fail(p, name, "no such number");
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        attr->kind = KILN_ATTR_BOOL;
        attr->value.i = *value == 't';
    } else if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
        value[n - 1] = '\0';
        attr->value.s = value + 1;
    }
    return *value || fail(p, name, "no value");
}

/* --- calls ---------------------------------------------------------------- */

/* The next word of *at, ended in place; NULL at the end. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    if (!*word)
        return NULL;
    char *end = word + strcspn(word, " ");
    *at = end + (*end != '\0');
    *end = '\0';
    return word;
}

/* "NAME=VALUE" is ended at '='; returns VALUE, or NULL without one. */
static char *split_word(char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return NULL;
    *equals = '\0';
    return equals + 1;
}

static bool has_tensor(const char *text)
{
    return strchr(text, '[') != NULL;
}

static bool parse_words(const parser *p, char *at)
{
    call *c = p->c;
    c->op = next_word(&at);
    if (!c->op)
        return fail(p, "\"\"", "no op");
    for (char *word; (word = next_word(&at)) != NULL;) {
        char *value = split_word(word);
        if (!value)
            return fail(p, word, "neither NAME=DTYPE[dims] nor NAME=VALUE");
        bool good;
        if (has_tensor(value))
            good = c->n_attrs ? fail(p, word, "a tensor after an attribute")
                              : parse_tensor(p, word, value);
        else if (strcmp(value, "none") == 0 && has_tensor(at))
            good = add_absent(p, word);
        else
            good = parse_attr(p, word, value);
        if (!good)
            return false;
    }
    return true;
}

bool call_parse(call *c, const char *text, char *why, size_t cap)
{
    assert(c && text && why && cap);
    parser p = {c, why, cap};
    size_t n = strlen(text);
    c->n_tensors = c->n_attrs = 0;
    c->op = "";
    snprintf(c->text, sizeof c->text, "%s", text);
    if (n >= sizeof c->text)
        return fail(&p, "text", "too long");
    memcpy(c->words, text, n + 1);
    return parse_words(&p, c->words);
}

/* --- buffers -------------------------------------------------------------- */

void call_extent(const DLTensor *tensor, int64_t *low, int64_t *high)
{
    int64_t first = 0;
    int64_t last = 0;
    int64_t size = truth_size(tensor->dtype);
    *low = *high = 0;
    if (truth_numel(tensor) == 0)
        return;
    for (int d = 0; d < tensor->ndim; d++) {
        int64_t reach = (tensor->shape[d] - 1) * tensor->strides[d];
        *(reach < 0 ? &first : &last) += reach;
    }
    *low = (int64_t)tensor->byte_offset + first * size;
    *high = (int64_t)tensor->byte_offset + (last + 1) * size;
}

bool call_place(call *c, call_buffers *buffers, bool flush)
{
    for (int i = 0; i < c->n_tensors; i++) {
        int64_t low, high;
        DLTensor *t = &c->tensors[i].tensor;
        if (!c->list[i])
            continue;
        call_extent(t, &low, &high);
        low = low < 0 ? low : 0;
        high = high > 0 ? high : 0;
        t->data = guard_place(&buffers->guards[i], low, high, flush);
        if (!t->data)
            return false;
    }
    return true;
}

void call_release(call_buffers *buffers)
{
    for (int i = 0; i < CALL_MAX_TENSORS; i++)
        guard_release(&buffers->guards[i]);
}

void call_runs(const DLTensor *t, int64_t first, int64_t last, call_run *body,
               void *user)
{
    int64_t width = t->ndim ? t->shape[t->ndim - 1] : 1;
    int64_t step = t->ndim ? t->strides[t->ndim - 1] : 1;
    while (first < last) {
        int64_t n = width - first % width;
        n = n < last - first ? n : last - first;
        char *address = (char *)t->data + t->byte_offset +
                        truth_offset(t, first) * truth_size(t->dtype);
        body(user, address, step, first, n);
        first += n;
    }
}

typedef struct copying {
    char *dense;
    size_t size;
    int byte;
} copying;

static void gather_run(void *user, char *address, int64_t step, int64_t index,
                       int64_t n)
{
    const copying *c = user;
    char *to = c->dense + (size_t)index * c->size;
    if (step == 1) {
        memcpy(to, address, (size_t)n * c->size);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * c->size, address + i * step * (int64_t)c->size,
               c->size);
}

void call_gather(const DLTensor *tensor, void *dense)
{
    copying c = {dense, (size_t)truth_size(tensor->dtype), 0};
    call_runs(tensor, 0, truth_numel(tensor), gather_run, &c);
}

static void paint_run(void *user, char *address, int64_t step, int64_t index,
                      int64_t n)
{
    const copying *c = user;
    (void)index;
    if (step == 1) {
        memset(address, c->byte, (size_t)n * c->size);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memset(address + i * step * (int64_t)c->size, c->byte, c->size);
}

void call_paint(const DLTensor *tensor, int byte)
{
    copying c = {NULL, (size_t)truth_size(tensor->dtype), byte};
    call_runs(tensor, 0, truth_numel(tensor), paint_run, &c);
}
