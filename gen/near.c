#include "near.h"

#include <stdint.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Three rows of the table are enough: a swap looks back two. */
size_t near_distance(const char *a, const char *b)
{
    size_t rows[3][NEAR_LONGEST + 1];
    const size_t na = strlen(a);
    const size_t nb = strlen(b);
    if (na > NEAR_LONGEST || nb > NEAR_LONGEST) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= nb; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3];
        const size_t *up = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = least(up[j - 1] + change, least(up[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
            }
        }
    }
    return rows[na % 3][nb];
}
