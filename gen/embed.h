/* embed.h: files that are linked into the program. gen/embed.c writes the
 * table when kiln is built.
 */
#ifndef KILN_GEN_EMBED_H
#define KILN_GEN_EMBED_H

#include <stddef.h>
#include <string.h>

typedef struct embed_file {
    const char *name; /* "family/softmax/init.lua" */
    const unsigned char *bytes;
    size_t size;
} embed_file;

typedef struct embed_table {
    const embed_file *files; /* sorted by the bytes of their name */
    size_t n_files;
} embed_table;

/* What gen/embed.c writes. */
extern const embed_table embed_files;

/* The file of that name, or NULL. */
static inline const embed_file *embed_find(const embed_table *table,
                                           const char *name)
{
    size_t low = 0;
    size_t high = table->n_files;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(name, table->files[middle].name);
        if (order == 0) {
            return &table->files[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

#endif /* KILN_GEN_EMBED_H */
