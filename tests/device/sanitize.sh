#!/bin/bash
# One run of one call of every kernel of a list under compute-sanitizer, tool
# by tool. Needs what run.sh needs, whose LIST, DIR and variables it takes:
#   bash tests/device/sanitize.sh LIST DIR
# Set TOOLS for others than memcheck, racecheck and initcheck; MATCH=TEXT for
# kernels whose symbol contains it alone. A tool that cannot run here is said
# to be unavailable, and is a failure. Last line: "N passed, N failed".
set -u
if [ $# -ne 2 ]; then
    echo "usage: bash tests/device/sanitize.sh LIST DIR" >&2
    exit 2
fi
list=$(realpath -- "$1") && dir=$(realpath -- "$2") || exit 2
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build/device}
runner=$build/certify/runner
logs=$build/sanitize
sanitizer=${SANITIZER:-$(command -v compute-sanitizer ||
    echo /usr/local/cuda/bin/compute-sanitizer)}
passed=0
failed=0

make --no-print-directory -j"$(nproc)" OUT="$dir" BUILD="$build" "$runner" ||
    exit 1
mkdir -p "$logs"

bad()
{
    failed=$((failed + 1))
    echo "not ok $1: $2"
    sed 's/^/# /' "$3" | head -n 40
}

# The tool's own summary decides, and that the runner passed all it judged. A
# log without a summary: the tool did not watch.
one()
{
    local tool=$1 log=$logs/$1.log journal=$logs/$1.jsonl status judged errors
    rm -f "$journal"
    "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 20 \
        "$runner" --list "$list" --journal "$journal" --one-call \
        ${OPS:+--ops "$OPS"} ${MATCH:+--match "$MATCH"} >"$log" 2>&1
    status=$?
    judged=$(grep -c '"status":"pass"' "$journal" 2>/dev/null)
    errors=$(grep -E '(ERROR|RACECHECK) SUMMARY: ' "$log" | tail -n 1)
    grep -vE '^(kernels: |$)' "$log" >"$log.short"
    if [ -z "$errors" ]; then
        bad "$tool" "unavailable (exit status $status)" "$log.short"
    elif [ "$status" -ne 0 ] || ! grep -qE 'SUMMARY: 0 ' <<<"$errors"; then
        bad "$tool" "${errors#*SUMMARY: }, exit status $status" "$log.short"
    elif [ "${judged:-0}" -eq 0 ]; then
        bad "$tool" "no kernel was judged" "$log.short"
    else
        passed=$((passed + 1))
        echo "ok $tool: $judged kernels, ${errors#*SUMMARY: }"
    fi
}

for tool in ${TOOLS:-memcheck racecheck initcheck}; do
    one "$tool"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
