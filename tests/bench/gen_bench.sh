#!/bin/bash
# How long `kiln gen` takes, and how much memory, for 1,000, 10,000 and 100,000
# certified keys, on one core: of a new tree, and again over it, where no file
# may change its time. Specs are copies of one elementwise op on a ladder of 40
# edges; certificates are made up by the tests' `evidence`.
#
#   tests/bench/gen_bench.sh [KEYS...]
#
# A line a size: keys, ops; of the first run and of the second: seconds by the
# clock, seconds of the processor, peak MB; then microseconds of the processor
# a key of the first. Exit status 1: a file of the second run changed, or a key
# costs over twice what it costs in the first row.
source tests/gen_lib.sh
pin=''
! command -v taskset >/dev/null || pin='taskset -c 0'

# measured COMMAND...: "wall cpu MB", two times in seconds and the peak; its
# words go to said.
measured()
{
    python3 - "$work/said" "$@" <<'END'
import os
import resource
import sys
import time

with open(sys.argv[1], "w") as said:
    start = time.monotonic()
    child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, said.fileno(), 1),
        (os.POSIX_SPAWN_DUP2, said.fileno(), 2)])
    _, status, usage = os.wait4(child, 0)
print("%.3f %.3f %.1f" % (time.monotonic() - start,
                          usage.ru_utime + usage.ru_stime,
                          usage.ru_maxrss / 1024))
sys.exit(os.waitstatus_to_exitcode(status))
END
}

make_spec() # DIR OPS
{
    local i edges
    small_spec "$1"
    rm "$1/op/relu.yaml"
    edges=$(seq -s ', ' 64 64 2560)
    sed -i "s/^  elements: .*/  elements: [$edges]/" "$1/buckets.yaml"
    sed -i 's/^isa: .*/isa: [base]/; s/lattice_bytes: [0-9]*/lattice_bytes: 1000000000/' \
        "$1/arch/cpu.yaml"
    for ((i = 0; i < $2; i++)); do
        map_spec "$1" "$(printf 'part_%04d' "$i")" "max(x, $i) * 0.5 + exp(-x)"
    done
}

bench() # KEYS
{
    local spec=$work/spec out=$work/out ops=$((($1 + 119) / 120)) first second
    rm -rf "$spec" "$out"
    make_spec "$spec" "$ops"
    if ! certify_all "$spec" >"$work/said" 2>&1; then
        head -n 3 "$work/said"
        return 1
    fi
    rm -rf "$work/candidates" "$work/all.jsonl"
    # shellcheck disable=SC2086 # a command and its options
    first=$(measured $pin "$kiln" gen --spec "$spec" --out "$out") ||
        { head -n 3 "$work/said"; return 1; }
    count=$(grep -vc '^#' "$out/KEYS.tsv")
    state "$out" >"$work/before"
    # shellcheck disable=SC2086
    second=$(measured $pin "$kiln" gen --spec "$spec" --out "$out") || return 1
    cost=$(echo "$first" | awk -v n="$count" '{ printf "%.1f", $2 / n * 1e6 }')
    # shellcheck disable=SC2086 # three fields each
    printf '%7d %5d   %7s %7s %6s   %7s %7s %6s   %6s\n' "$count" "$ops" \
        $first $second "$cost"
    if ! unchanged "$work/before" "$out" >"$work/said"; then
        echo "the second run changed something: $(head -n 3 "$work/said")"
        return 1
    fi
}

echo '   keys   ops     first   cpu s     MB    second   cpu s     MB   us/key'
status=0
base=''
for size in "${@:-1000 10000 100000}"; do
    # shellcheck disable=SC2086
    for n in $size; do
        cost=''
        bench "$n" || status=1
        [ -n "$cost" ] || continue
        base=${base:-$cost}
        awk -v a="$cost" -v b="$base" 'BEGIN { exit !(a <= 2 * b) }' || status=1
    done
done
exit $status
