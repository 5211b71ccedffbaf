#include "table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ hash >> 32);
}

static table_entry *place(table_entry *entries, size_t room, const char *name)
{
    size_t i = hash_of(name) & (room - 1);
    while (entries[i].name && strcmp(entries[i].name, name) != 0)
        i = (i + 1) & (room - 1);
    return &entries[i];
}

static bool grow(table *t)
{
    size_t room = t->room ? 2 * t->room : 256;
    table_entry *entries = calloc(room, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < t->room; i++)
        if (t->entries[i].name)
            *place(entries, room, t->entries[i].name) = t->entries[i];
    free(t->entries);
    t->entries = entries;
    t->room = room;
    return true;
}

bool table_put(table *t, const char *name, int value)
{
    if (2 * (t->n + 1) > t->room && !grow(t))
        return false;
    table_entry *entry = place(t->entries, t->room, name);
    if (!entry->name) {
        size_t bytes = strlen(name) + 1;
        entry->name = malloc(bytes);
        if (!entry->name)
            return false;
        memcpy(entry->name, name, bytes);
        t->n++;
    }
    entry->value = value;
    return true;
}

int table_get(const table *t, const char *name, int other)
{
    if (t->room == 0)
        return other;
    const table_entry *entry = place(t->entries, t->room, name);
    return entry->name ? entry->value : other;
}

void table_free(table *t)
{
    for (size_t i = 0; i < t->room; i++)
        free(t->entries[i].name);
    free(t->entries);
    *t = (table){0};
}
