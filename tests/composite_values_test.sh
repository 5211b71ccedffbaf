#!/bin/bash
# Random calls of the composite op: tests/composite/random.c, on the library of
# tests/composite_test.sh, which comes before.
set -eu
BUILD=${BUILD:-build}
dir=$BUILD/composite
[ -e "$dir/libkiln.a" ] || bash tests/composite_test.sh >/dev/null
${CC:-cc} -std=c11 -O1 -g -Wall -Wextra -Wconversion -Werror -Iruntime \
    tests/composite/random.c "$dir/libkiln.a" -lm -pthread -o "$dir/random"
"$dir/random" 1000 1
