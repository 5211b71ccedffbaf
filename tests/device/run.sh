#!/bin/bash
# Judges every kernel of a list on this machine's GPU against the f64 truth
# (tests/certify/correct.h says how) and prints a table. Needs make, gcc and
# nvcc. From anywhere:
#   bash tests/device/run.sh LIST DIR
# LIST: CANDIDATES.tsv of `kiln candidates --tier TIER --out DIR`; DIR: that
# tree. Set BUILD (build/device), JOBS (one a core, 16 at most), OPS=softmax,silu
# and, for a tier that is not the GPU's own, FORCED=sm_90. The last line is
# "N passed, N failed"; a kernel that was not run is a failure.
set -u
if [ $# -ne 2 ]; then
    echo "usage: bash tests/device/run.sh LIST DIR" >&2
    exit 2
fi
list=$(realpath -- "$1") && dir=$(realpath -- "$2") || exit 2
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build/device}
cores=$(nproc)
jobs=${JOBS:-$((cores < 16 ? cores : 16))}
journal=$build/device.jsonl
runner=$build/certify/runner

make --no-print-directory -j"$cores" OUT="$dir" BUILD="$build" "$runner" ||
    exit 1
rm -f "$journal"
"$runner" --list "$list" --journal "$journal" --only-kernels --jobs "$jobs" \
    ${OPS:+--ops "$OPS"}
status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] ||
    echo "$runner ended with status $status" >&2
[ -e "$journal" ] || : >"$journal"
awk -v ops="${OPS:-}" -f tests/device/table.awk "$list" "$journal"
