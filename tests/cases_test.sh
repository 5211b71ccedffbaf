#!/bin/bash
# Cases from other libraries' failures, run on the built library through its
# public interface: tests/cases. Tensor cases come from tests/golden/cases.json;
# each scenario keeps its name.
source tests/gen_lib.sh
source tests/cases_lib.sh
cc=${CC:-cc}
program=$work/cases

compiled()
{
    cases_program "$build/libkiln.a" "$program" -O2 -Wall -Wextra -Wpedantic \
        -Wshadow -Wconversion -Wvla -Wundef -Werror
}

# run LEAD COMMAND...: the program's lines, each name after LEAD, skips but
# once; a line more when it did not come to its end.
run()
{
    local lead=$1 status told
    shift
    told=$(mktemp -p "$work")
    "$program" "$@" >"$told" 2>"$told.e"
    status=$?
    sed "${lead:+/# SKIP/d;}s/^\(not \)\?ok/&$lead/" "$told"
    if [ "$status" -gt 1 ] || [ -s "$told.e" ] ||
        { [ "$status" -eq 1 ] && ! grep -q '^not ok' "$told"; }; then
        echo "not ok $lead$1: exit status $status"
        head "$told.e"
    fi
}
ladder() { sed -n "s/^  $1: \[\(.*\)\]/\1/p" spec/buckets.yaml | tr -d ' '; }
edges=("$(ladder elements)" "$(ladder rows)" "$(ladder cols)"
    "$(sed -n 's/^  lattice_bytes: \([0-9]*\).*/\1/p' spec/arch/cpu.yaml)")

check "tests/golden/case_data.h is what cases.json gives" \
    python3 tests/golden/make_cases.py --check
check "build" compiled
[ -x "$program" ] || exit 1

run "" buckets 32768 "${edges[@]}" >"$work/buckets" &
run "" tensor
run "" layouts
run "" process
run "" first-use 100 1
run "" refusals
run "" memory
run "" same
run "" random 10000 "${SEED:-1}" >"$work/random"
cat "$work/random"
# Every op of spec/op is among them.
check "random calls: every op" diff <(basename -s .yaml spec/op/*.yaml) \
    <(sed -n 's/^ok random calls: \([a-z_]*\),.*/\1/p' "$work/random")

# --- dispatch-is-complete ------------------------------------------------------

"$kiln" candidates --tier cpu --out "$work/candidates" >"$work/said"
run "" dispatch "$work/candidates/CANDIDATES.tsv" out/KEYS.tsv
run "" undeclared

# --- zero-capabilities -----------------------------------------------------------

for lie in --zero --error; do
    lead=" zero-capabilities ($lie):"
    run "$lead" "$lie" tensor
    run "$lead" "$lie" layouts
    run "$lead" "$lie" random 600 2
    run "$lead" "$lie" process
    run "$lead" "$lie" first-use 3 1
    run "$lead" "$lie" buckets 1024 "${edges[@]}"
done

# A profile that says 0: what follows from it is refused by name.
profile()
{
    local field=$1 status=$2
    shift 2
    rm -rf "$work/spec"
    cp -r spec "$work/spec"
    sed -i "s/^  $field: [0-9]*/  $field: 0/" "$work/spec/arch/cpu.yaml"
    says "zero-capabilities: $field: 0 in a profile" "$status" "$@" -- \
        "$kiln" check --spec "$work/spec"
}
profile row_tile 1 "softmax.yaml:" "single_tile is unreachable"
profile lattice_bytes 1 "relu.yaml:" "map is unreachable"

# --- bucket-boundaries -------------------------------------------------------------

wait
cat "$work/buckets"
# Every op of the lists is among them.
named()
{
    diff <(grep -v '^#' out/KEYS.tsv | cut -f1 | sort -u) \
        <(sed -n 's/^ok bucket-boundaries: \([a-z_]*\).*/\1/p' \
            "$work/buckets" | grep -vE '^(large|log_softmax)$' | sort -u)
}
check "bucket-boundaries: every op that has keys" named
