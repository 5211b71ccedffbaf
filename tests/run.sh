#!/bin/bash
# Runs every test that `make tests` built and every script, from the top:
#   tests/unit/test_*.c    as BUILD/plain/NAME and BUILD/san/NAME
#   tests/unit/test_*.lua  by lua5.4
#   tests/unit/*.sh, tests/*_test.sh  by bash, one at a time
# A test says `ok NAME` or `not ok NAME` a line (TAP), or `N passed, N failed`;
# a test that dies, or says nothing at all, is one failure. `# SKIP`, or exit
# status 77, is a skip and never a pass. The last line is the sum.
set -u
export BUILD=${BUILD:-build}
export KILN=${KILN:-$BUILD/kiln} KILN_SAN=${KILN_SAN:-$BUILD/san/kiln}
export CMOCKA_MESSAGE_OUTPUT=TAP
export UBSAN_OPTIONS=print_stacktrace=1
export LUA_PATH='lua/?.lua;lua/?/init.lua;tests/unit/?.lua'
limit=${TEST_SECONDS:-600}
logs=$BUILD/test

# count LOG STATUS: "passed failed skipped" of one test.
count()
{
    awk -v status="$2" '
        /^(not )?ok.*# *(SKIP|skip)/ { skipped++; next }
        /^ok( |$)/     { passed++ }
        /^not ok/      { failed++ }
        /^[0-9]+ passed, [0-9]+ failed/ { sums = 1; p += $1; f += $3 }
        END {
            if (sums) { passed = p; failed = f }
            if (status == 77 && !failed) { skipped++ }
            else if (status != 0 && !failed) { failed = 1 }
            else if (!passed && !failed && !skipped) { failed = 1 }
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

# one KIND NAME: runs it, leaves KIND-NAME.log and .sum, says how it went.
one()
{
    local kind=$1 name=$2 log=$logs/$1-$2.log status sum command
    case $kind in
    plain|san) command=("$BUILD/$kind/$name") ;;
    lua)       command=(lua5.4 "tests/unit/$name.lua") ;;
    unit)      command=(bash "tests/unit/$name.sh") ;;
    whole)     command=(bash "tests/$name.sh") ;;
    esac
    SECONDS=0
    if command -v "${command[0]}" >/dev/null; then
        timeout "$limit" "${command[@]}" >"$log" 2>&1 </dev/null
    else
        echo "${command[0]} was not built" >"$log"
        false
    fi
    status=$?
    sum=$(count "$log" "$status")
    echo "$sum" >"${log%.log}.sum"
    # shellcheck disable=SC2086
    set -- $sum
    printf '%-5s %-24s %5d passed' "$kind" "$name" "$1"
    [ "$3" -eq 0 ] || printf ', %d skipped' "$3"
    [ "$SECONDS" -lt 10 ] || printf ' (%d s)' "$SECONDS"
    if [ "$2" -eq 0 ]; then
        echo
    else
        printf ', %d FAILED (exit status %d), %s ends:\n' "$2" "$status" "$log"
        { grep -E '^(not ok|FAILED)' "$log" | head -20; tail -n 40 "$log"; } |
            sed 's/^/    | /'
    fi
}

if [ "${1:-}" = --one ]; then
    one "$2" "$3"
    exit 0
fi

# names PREFIX SUFFIX: what lies between them in the files' names.
names()
{
    local file
    for file in "$1"*"$2"; do
        [ -e "$file" ] && basename "$file" "$2"
    done
}

rm -rf "$logs"
mkdir -p "$logs"
{
    for name in $(names tests/unit/test_ .c); do
        printf '%s\n' san "$name" plain "$name"
    done
    for name in $(names tests/unit/test_ .lua); do
        printf '%s\n' lua "$name"
    done
} | xargs -r -n 2 -P "${JOBS:-$(nproc)}" bash tests/run.sh --one
for name in $(names tests/unit/ .sh); do one unit "$name"; done
for name in $(names tests/ _test.sh); do one whole "${name}_test"; done

cat "$logs"/*.sum | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        if (skipped) print skipped " skipped"
        print passed + 0 " passed, " failed + 0 " failed"
        exit failed > 0 || passed == 0
    }'
