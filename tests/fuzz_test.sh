#!/bin/bash
# Each fuzz target over its committed corpus: seeds, and what fuzzing found.
if ! command -v clang >/dev/null || ! echo 'int LLVMFuzzerTestOneInput(
    const unsigned char *, unsigned long);
    int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n)
    { return d == 0 && n > 0; }' |
    clang -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null; then
    echo "ok fuzz # SKIP clang with libFuzzer is not here"
    exit 0
fi
exec bash tests/fuzz/run.sh 0
