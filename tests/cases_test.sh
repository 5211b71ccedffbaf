#!/bin/bash
# Cases from other libraries' failures, run on the built library through its
# public interface: tests/cases. Tensor cases come from tests/golden/cases.json;
# each scenario keeps its name.
source tests/gen_lib.sh
cc=${CC:-cc}
program=$work/cases

# The tests' own guard pages hear the truth where the library does not.
compiled()
{
    local flags='-std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wshadow
        -Wconversion -Wvla -Wundef -Werror -Iruntime'
    # shellcheck disable=SC2086
    "$cc" $flags -Dsysconf=lie_not_sysconf -c -o "$work/guard.o" \
        tests/certify/guard.c &&
        "$cc" $flags tests/cases/*.c tests/truth/*.c \
            tests/certify/{call,fill,judge}.c "$work/guard.o" \
            "$build/libkiln.a" -lm -pthread -o "$program" \
            -Wl,--wrap=sysconf,--wrap=sched_getaffinity,--wrap=malloc
}

# run LEAD COMMAND...: the program's lines, each name after LEAD; a line more
# when it did not come to its end.
run()
{
    local lead=$1 status
    shift
    "$program" "$@" >"$work/told" 2>"$work/said"
    status=$?
    sed "s/^\(not \)\?ok/&$lead/" "$work/told"
    [ "$status" -le 1 ] && [ ! -s "$work/said" ] ||
        { echo "not ok $lead$1: exit status $status"; head "$work/said"; }
}
ladder() { sed -n "s/^  $1: \[\(.*\)\]/\1/p" spec/buckets.yaml | tr -d ' '; }
edges=("$(ladder elements)" "$(ladder rows)" "$(ladder cols)"
    "$(sed -n 's/^  lattice_bytes: \([0-9]*\).*/\1/p' spec/arch/cpu.yaml)")

check "tests/golden/case_data.h is what cases.json gives" \
    python3 tests/golden/make_cases.py --check
check "build" compiled
[ -x "$program" ] || exit 1

run "" tensor
run "" layouts
run "" process
run "" first-use 100
run "" buckets 65536 "${edges[@]}"

# Every op of the lists is among them.
named()
{
    diff <(grep -v '^#' out/KEYS.tsv | cut -f1 | sort -u) \
        <(sed -n 's/^ok bucket-boundaries: \([a-z_]*\).*/\1/p' \
            "$work/told" | grep -vE '^(large|log_softmax)$' | sort -u)
}
check "bucket-boundaries: every op that has keys" named

# --- dispatch-is-complete ------------------------------------------------------

"$kiln" candidates --out "$work/candidates" >"$work/said"
run "" dispatch "$work/candidates/CANDIDATES.tsv" out/KEYS.tsv

# --- zero-capabilities -----------------------------------------------------------

for lie in --zero --error; do
    lead=" zero-capabilities ($lie):"
    run "$lead" "$lie" tensor
    run "$lead" "$lie" layouts
    run "$lead" "$lie" process
    run "$lead" "$lie" first-use 3
    run "$lead" "$lie" buckets 1024 "${edges[@]}"
done
