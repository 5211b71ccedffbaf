#!/bin/bash
# A user's own spec folder, laid over ours, adds an op by YAML alone: it is
# certified here, on the cpu, against the user's own truth, then generated,
# built and called.
set -eu
BUILD=${BUILD:-build}
KILN=${KILN:-$BUILD/kiln}
dir=$BUILD/downstream
rm -rf "$dir"
mkdir -p "$dir"
cp -r tests/downstream/spec "$dir/spec"
specs=(--spec spec --spec "$dir/spec" --ops squared_relu --tier cpu)
"$KILN" candidates "${specs[@]}" --keys 'f32 contiguous' \
    --out "$dir/candidates"
make -s BUILD="$dir/c" OUT="$dir/candidates" \
    TRUTH_USER=tests/downstream/truth.c "$dir/c/certify/runner"
"$dir/c/certify/runner" --list "$dir/candidates/CANDIDATES.tsv" \
    --journal "$dir/cpu.jsonl"
"$KILN" certify "${specs[@]}" "$dir/cpu.jsonl"
"$KILN" gen "${specs[@]}" --out "$dir/out"
make -s BUILD="$dir" OUT="$dir/out" "$dir/libkiln.a"
${CC:-cc} -std=c11 -Iruntime -I"$dir/out/include" tests/downstream/main.c \
    "$dir/libkiln.a" -lm -pthread -o "$dir/test"
"$dir/test"
