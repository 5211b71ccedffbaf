#!/bin/bash
# Fuzzes each target of tests/fuzz, or the one that is named, for so many
# seconds; 0: over its committed corpus alone. A target passes when nothing
# crashed, leaked or took too long. What was found lies in BUILD/fuzz/found,
# inputs of new coverage in BUILD/fuzz/grown/TARGET.
#
#   tests/fuzz/run.sh SECONDS [TARGET]
set -u
seconds=${1:?seconds}
build=${BUILD:-build}
passed=0
failed=0

# fuzz TARGET: what libFuzzer says goes to BUILD/fuzz/TARGET.log.
fuzz()
{
    local limits=(-timeout=20 -rss_limit_mb=3000 -print_final_stats=1
        "-artifact_prefix=$build/fuzz/found/$1-")
    mkdir -p "$build/fuzz/found" "$build/fuzz/grown/$1"
    if [ "$seconds" -eq 0 ]; then
        "$build/fuzz/fuzz_$1" "${limits[@]}" -runs=0 "tests/fuzz/corpus/$1"
    else
        "$build/fuzz/fuzz_$1" "${limits[@]}" "-max_total_time=$seconds" \
            "$build/fuzz/grown/$1" "tests/fuzz/corpus/$1"
    fi >"$build/fuzz/$1.log" 2>&1
}

make -s fuzzers || exit 1
for corpus in tests/fuzz/corpus/*/; do
    target=$(basename "$corpus")
    [ "${2:-$target}" = "$target" ] || continue
    if fuzz "$target"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 40 "$build/fuzz/$target.log" | sed 's/^/    | /'
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' \
        "$build/fuzz/$target.log")
    echo "fuzz $target: ${runs:-no} inputs"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
