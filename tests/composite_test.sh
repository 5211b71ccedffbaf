#!/bin/bash
# A composite op (masked softmax by steps) from the tests' own spec folder,
# laid over ours: generated, built and run.
set -eu
BUILD=${BUILD:-build}
KILN=${KILN:-$BUILD/kiln}
dir=$BUILD/composite
rm -rf "$dir"
mkdir -p "$dir"
"$KILN" gen --spec spec --spec tests/composite/spec --tier cpu --ops masked_softmax \
    --out "$dir/out"
make -s BUILD="$dir" OUT="$dir/out" "$dir/libkiln.a"
${CC:-cc} -std=c11 -O1 -g -Iruntime tests/composite/main.c "$dir/libkiln.a" \
    -lm -pthread -o "$dir/test"
"$dir/test"
