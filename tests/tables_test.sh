#!/bin/bash
# Properties of the tables that were generated last: tests/tables/keys.c, on
# the objects of the library.
set -u
BUILD=${BUILD:-build}
objects=$(sed "s,^,$BUILD/rel/,; s, , $BUILD/rel/,g; s,\.c\>,.o,g" \
    "$BUILD/lib.list" | tr -s ' ')
made=$BUILD/tables_keys
# shellcheck disable=SC2086 # objects are several
if ! ${CC:-cc} -std=c11 -O1 -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Werror -Iruntime tests/tables/keys.c $objects -lm -ldl -pthread \
    -o "$made" >"$made.log" 2>&1; then
    echo "not ok build"
    head -n 20 "$made.log" | sed 's/^/# /'
    exit 1
fi
exec "$made" "${OUT:-out}/KEYS.tsv" 1
