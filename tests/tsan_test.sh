#!/bin/bash
# ThreadSanitizer over the runtime with the tables of
# tests/unit/fixture_tables.c: first use by 32 threads, shared plans, two
# contexts (tests/unit/test_threads.c, test_pool.c), and two copies of the
# library in one process (tests/tsan/copies.c). Any report fails.
set -u
build=${BUILD:-build}/tsan_fixture
cc=${CC:-cc}
mkdir -p "$build"

echo 'int main(void) { return 0; }' >"$build/empty.c"
if ! "$cc" -fsanitize=thread "$build/empty.c" -o "$build/empty" 2>/dev/null ||
    ! "$build/empty" 2>/dev/null; then
    echo "ok ThreadSanitizer # SKIP $cc has none, or it does not run here"
    exit 0
fi
export TSAN_OPTIONS='halt_on_error=1 exitcode=66 die_after_fork=0'

# silent NAME COMMAND...: it succeeds and no report is made.
silent()
{
    local name=$1 status
    shift
    "$@" >"$build/said" 2>&1
    status=$?
    if [ "$status" -eq 0 ] &&
        ! grep -qE '^not ok|ThreadSanitizer' "$build/said"; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/# /' "$build/said" | head -n 60
    fi
}

programs()
{
    make -s BUILD="$build" CC="$cc" CFLAGS=-fsanitize=thread \
        LDFLAGS=-fsanitize=thread "$build/plain/test_threads" \
        "$build/plain/test_pool"
}

# Two libraries that differ in their names alone.
copies()
{
    local name
    echo '{ global: kiln_*; fixture_tables_init; local: *; };' \
        >"$build/copies.map"
    for name in one two; do
        "$cc" -std=c11 -O1 -g -fPIC -ffp-contract=off -fsanitize=thread \
            -shared -Wl,-soname,"libkiln_$name.so" \
            -Wl,--version-script="$build/copies.map" -Iruntime -Itests/unit \
            runtime/*.c runtime/core/*.c runtime/cpu/*.c runtime/cuda/*.c \
            tests/unit/fixture_tables.c -o "$build/libkiln_$name.so" \
            -lm -pthread || return 1
    done
    "$cc" -std=c11 -O1 -g -fsanitize=thread -Iruntime tests/tsan/copies.c \
        -o "$build/copies" -ldl -pthread
}

silent "build the tests with ThreadSanitizer" programs
silent "build two copies of the library" copies
silent "no race: first use, shared plans, two contexts, forks" \
    "$build/plain/test_threads"
silent "no race: the pool" "$build/plain/test_pool"
silent "no race: two copies of the library" "$build/copies" \
    "$build/libkiln_one.so" "$build/libkiln_two.so"
