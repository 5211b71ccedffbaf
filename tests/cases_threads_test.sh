#!/bin/bash
# concurrent-first-use under ThreadSanitizer: runtime, tables and kernels of a
# small tree, all instrumented, with the program of tests/cases. The build is
# kept in BUILD/tsan.
source tests/gen_lib.sh
source tests/cases_lib.sh
cc=${CC:-cc}
tsan=$build/tsan
flags='-fsanitize=thread -O1 -g'
spec=$work/spec

echo 'int main(void) { return 0; }' >"$work/empty.c"
if ! "$cc" -fsanitize=thread "$work/empty.c" -o "$work/empty" 2>"$work/said" ||
    ! "$work/empty" 2>>"$work/said"; then
    echo "ok concurrent-first-use under ThreadSanitizer # SKIP $(head -n 1 \
        "$work/said")"
    exit 0
fi

# Contiguous keys, up to what takes more than one thread.
small_spec "$spec" relu silu sigmoid tanh exp gelu add mul softmax log_softmax
edges=64
for power in {7..16}; do edges+=", $((1 << power))"; done
sed -i "s/^  elements: .*/  elements: [$edges]/" "$spec/buckets.yaml"
keys=contiguous check "certify" certify_all "$spec"
check "generate" "$kiln" gen --spec "$spec" --out "$tsan/out"

compiled()
{
    make -s BUILD="$tsan" OUT="$tsan/out" CC="$cc" CFLAGS="$flags" \
        "$tsan/libkiln.a" >/dev/null &&
        cases_program "$tsan/libkiln.a" "$work/cases" -O1 -fsanitize=thread
}
check "build with ThreadSanitizer" compiled

export TSAN_OPTIONS='halt_on_error=1 exitcode=66'
silent()
{
    "$work/cases" "$@" >"$work/told" 2>&1
    local status=$?
    cat "$work/told"
    [ "$status" -eq 0 ] && ! grep -E '^not ok|ThreadSanitizer' "$work/told"
}
check "concurrent-first-use: no race in 100 repetitions" silent first-use 10 10
