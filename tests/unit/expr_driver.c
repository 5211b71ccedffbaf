/* expr_driver.c: runs compiled random expressions and compares.
 * Input: the output of expr_random.lua. Last line: "N passed, N failed".
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/expr.h"

#define MAX_SLOTS 16
#define MAX_POOL 32
#define MAX_INS 8192

typedef struct state {
    kiln_tables tables;
    kiln_ladder ladders[4];
    int64_t edges[4][8];
    int64_t arch[MAX_SLOTS], config[MAX_SLOTS];
    kiln_view pool[MAX_POOL];
    int n_pool;
    kiln_value values[MAX_SLOTS];
    kiln_view tensors[3];
    kiln_scope scope;
    kiln_ins code[MAX_INS];
    long passed, failed;
} state;

static int64_t next_int(char **save)
{
    const char *word = strtok_r(NULL, " ", save);

    return word == NULL ? 0 : (int64_t)strtoll(word, NULL, 10);
}

static double from_hex(const char *hex)
{
    uint64_t bits = strtoull(hex, NULL, 16);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static void read_view(kiln_view *view, char **save)
{
    view->dtype = (uint8_t)next_int(save);
    view->ndim = (uint8_t)next_int(save);
    view->offset = next_int(save);
    for (int d = 0; d < view->ndim; d++)
        view->size[d] = next_int(save);
    for (int d = 0; d < view->ndim; d++)
        view->stride[d] = next_int(save);
}

static void read_header(state *s, char *line)
{
    char *save, *field = strtok_r(line, " ", &save);
    int n = s->tables.n_ladders;

    if (strcmp(field, "#ladder") == 0) {
        s->ladders[n].name = "ladder";
        s->ladders[n].edges = s->edges[n];
        s->ladders[n].n_edges = (int32_t)next_int(&save);
        for (int i = 0; i < s->ladders[n].n_edges; i++)
            s->edges[n][i] = next_int(&save);
        s->tables.n_ladders++;
    } else if (strcmp(field, "#pool") == 0) {
        read_view(&s->pool[s->n_pool++], &save);
    } else if (strcmp(field, "#profile") == 0) {
        for (s->scope.n_arch = 0; *save != '\0'; s->scope.n_arch++)
            s->arch[s->scope.n_arch] = next_int(&save);
    } else {
        for (s->scope.n_config = 0; *save != '\0'; s->scope.n_config++)
            s->config[s->scope.n_config] = next_int(&save);
    }
}

/* lets (6), attributes (4), loops (2), tensors (3: indices of the pool) */
static void read_values(state *s, char *text)
{
    char *save, *word = strtok_r(text, " ", &save);

    for (int i = 0; word != NULL; word = strtok_r(NULL, " ", &save), i++) {
        kiln_value v = {KILN_V_INT, 0, 0};

        if (word[0] == 'f') {
            v.kind = KILN_V_FLOAT;
            v.f = from_hex(word + 1);
        } else {
            v.kind = word[0] == 'b' ? KILN_V_BOOL : KILN_V_INT;
            v.i = (int64_t)strtoll(word + 1, NULL, 10);
        }
        if (i < 12)
            s->values[i] = v;
        else
            s->tensors[i - 12] = s->pool[v.i];
    }
    s->tables.ladders = s->ladders;
    s->scope.tables = &s->tables;
    s->scope.lets = s->values;
    s->scope.n_lets = 6;
    s->scope.attrs = s->values + 6;
    s->scope.n_attrs = 4;
    s->scope.loops = s->values + 10;
    s->scope.n_loops = 2;
    s->scope.tensors = s->tensors;
    s->scope.n_tensors = 3;
    s->scope.arch = s->arch;
    s->scope.config = s->config;
}

static int32_t read_code(state *s, char *text)
{
    char *save, *word = strtok_r(text, " ", &save);
    int32_t n = 0;

    for (; word != NULL && n < MAX_INS; word = strtok_r(NULL, " ", &save)) {
        kiln_ins *ins = &s->code[n++];
        char *inner, *name = strtok_r(word, ",", &inner);

        ins->op = (uint8_t)kiln_opcode_parse(name);
        ins->argc = (uint8_t)atoi(strtok_r(NULL, ",", &inner));
        ins->i = (int64_t)strtoll(strtok_r(NULL, ",", &inner), NULL, 10);
        ins->f = from_hex(strtok_r(NULL, ",", &inner));
    }
    return n;
}

/* The kind of failure, in expr_ref.py's words. */
static const char *kind_of(const char *why)
{
    static const char *const kinds[][2] = {
        {"absent", "eabsent"},
        {" needs ", "etype"},
        {"view: ", "eview"},
        {"merge: ", "eview"},
        {"transpose: ", "eview"},
        {"slice: ", "eview"},
        {"expand: ", "eview"},
        {"group: ", "eview"},
        {"outside int64", "eoverflow"},
        {"division by zero", "ezero"},
        {"no arm of match", "earm"},
        {" must be ", "erange"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strstr(why, kinds[i][0]) != NULL)
            return kinds[i][1];
    }
    return "e?";
}

static void run_code(state *s, int32_t n, char *got, size_t cap)
{
    const kiln_expr expr = {"", s->code, n};
    kiln_result result;
    char why[256] = "";
    uint64_t bits;

    if (!kiln_expr_run(&expr, &s->scope, &result, why, sizeof why)) {
        snprintf(got, cap, "%s", kind_of(why));
    } else if (result.value.kind == KILN_V_INT) {
        snprintf(got, cap, "i%" PRId64, result.value.i);
    } else if (result.value.kind == KILN_V_BOOL) {
        snprintf(got, cap, "b%" PRId64, result.value.i);
    } else if (result.value.kind == KILN_V_TENSOR) {
        snprintf(got, cap, "t");
    } else if (isnan(result.value.f)) {
        snprintf(got, cap, "fnan");
    } else {
        memcpy(&bits, &result.value.f, sizeof bits);
        snprintf(got, cap, "f%016" PRIx64, bits);
    }
}

static void run_case(state *s, char *line)
{
    char *save, *code = strtok_r(line, "\t", &save);
    char *values = strtok_r(NULL, "\t", &save);
    const char *expected = strtok_r(NULL, "\t", &save);
    const char *text = strtok_r(NULL, "\n", &save);
    char got[64] = "refused";
    bool refused = strncmp(code, "refused", 7) == 0;

    text = text == NULL ? "" : text;
    if (!refused) {
        read_values(s, values);
        run_code(s, read_code(s, code), got, sizeof got);
    }
    if (expected[0] == 'c' && got[0] == 'i')
        got[0] = 'c'; /* a choice is held as an int */
    if (strcmp(got, expected) == 0) {
        s->passed++;
    } else if (s->failed++ < 20) {
        printf("%s\n  expected %s, got %s %s\n", text, expected, got,
               refused ? code : "");
    }
}

int main(void)
{
    static state s;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while ((length = getline(&line, &room, stdin)) > 0) {
        line[length - 1] = '\0';
        if (line[0] == '#')
            read_header(&s, line);
        else
            run_case(&s, line);
    }
    free(line);
    printf("%ld passed, %ld failed\n", s.passed, s.failed);
    return s.failed != 0 || s.passed == 0;
}
