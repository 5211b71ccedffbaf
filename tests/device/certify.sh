#!/bin/bash
# On a machine with a GPU: measures every candidate of a tier and leaves the
# evidence as FILE. Needs make, gcc and nvcc. From the top of the tree:
#   bash tests/device/certify.sh DIR FILE
# DIR: what `kiln candidates --tier TIER --out DIR` wrote. Set BUILD, JOBS (one
# a core, 16 at most) and, for a tier that is not the GPU's own, FORCED=sm_90.
# Then, where Lua is: kiln certify --tier TIER FILE.
set -u
if [ $# -ne 2 ]; then
    echo "usage: bash tests/device/certify.sh DIR FILE" >&2
    exit 2
fi
build=${BUILD:-build/device}
cores=$(nproc)
make --no-print-directory -s -j"$cores" OUT="$1" BUILD="$build" \
    NVCCFLAGS="-split-compile=$cores" "$build/certify/runner" || exit 1
echo "built in $SECONDS s"
"$build/certify/runner" --list "$1/CANDIDATES.tsv" --journal "$2" \
    --jobs "${JOBS:-$((cores < 16 ? cores : 16))}"
status=$?
echo "measured in $SECONDS s"
exit "$status"
