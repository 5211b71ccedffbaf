/* table.h: small numbers by name. */
#ifndef KILN_TESTS_TABLE_H
#define KILN_TESTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct table_entry {
    char *name; /* NULL: a free place */
    int value;
} table_entry;

/* Zeroed: empty. */
typedef struct table {
    table_entry *entries;
    size_t n;
    size_t room; /* 0 or a power of two */
} table;

/* Adds or changes. false: no memory. */
bool table_put(table *t, const char *name, int value);
/* The value put last, or other. */
int table_get(const table *t, const char *name, int other);
void table_free(table *t);

#endif /* KILN_TESTS_TABLE_H */
