#!/bin/bash
# Kernels of out/cuda on the CPU harness (tests/emu), through the public
# interface and held to the f64 truth, with AddressSanitizer and UBSan. The calls
# are those of `kiln cases`: the kernel's own domain, with tails. One kernel in
# four, every file among them; FULL=1: all, and with ThreadSanitizer too. Then, in a copy of one file, a barrier is taken out and a read goes
# one past the end: the kernel is no longer found right.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
kiln=${KILN:-$build/kiln}
dir=$build/emu_kernels
tiers=${TIERS:-sm90}
modes=asan
[ -z "${FULL:-}" ] || modes='asan tsan'
jobs=$(nproc)
passed=0
failed=0
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
export TSAN_OPTIONS=report_bugs=1
rm -rf "$dir"
mkdir -p "$dir"

check()
{
    local name=$1
    shift
    if "$@" >"$dir/said" 2>&1; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        echo "not ok $name"
        tail -n 20 "$dir/said" | sed 's/^/# /'
    fi
}

# build MODE: the runner with out/cuda's units as shared objects.
build()
{
    local flags='-fsanitize=address,undefined -fno-sanitize-recover=all'
    local cc=${CC:-cc} cxx=${CXX:-c++}
    if [ "$1" = tsan ]; then
        flags=-fsanitize=thread
        if command -v clang clang++ >/dev/null; then
            cc=clang
            cxx=clang++
        fi
    fi
    make -s -j"$jobs" EMU="$1" OUT="$dir/tree" BUILD="$dir/$1" CC="$cc" \
        CXX="$cxx" WERROR= CFLAGS="$flags" LDFLAGS="$flags" \
        "$dir/$1/certify/emu_runner"
}

# judge MODE LIST: a line a kernel.
judge()
{
    rm -f "$dir/$1.jsonl"
    "$dir/$1/certify/emu_runner" --list "$2" --journal "$dir/$1.jsonl" \
        --only-kernels --jobs "$jobs" >"$dir/said" 2>&1
}

count()
{
    local good bad
    good=$(grep -c '"status":"pass"' "$dir/$1.jsonl")
    bad=$(($(grep -c ^kernel "$dir/cases.tsv") - good))
    passed=$((passed + good))
    failed=$((failed + bad))
    echo "$1: $good kernels passed, $bad failed"
    [ "$bad" -eq 0 ] || grep -v '"status":"pass"' "$dir/$1.jsonl" |
        head -n 5 | cut -c 1-600 | sed 's/^/# /'
}

# An edit of what was emitted changes the result.
mutant()
{
    local name=$1 file=$2 edit=$3 mode=$4 symbol=$5
    cp "$dir/tree/$file" "$dir/kept"
    sed -i -E "$edit" "$dir/tree/$file"
    check "$name: an edit" sh -c "! cmp -s '$dir/kept' '$dir/tree/$file'"
    build "$mode" >"$dir/said" 2>&1
    grep -E "	$symbol" "$dir/cases.tsv" | head -n 1 >"$dir/one.tsv"
    judge "$mode" "$dir/one.tsv"
    check "$name: found" grep -q '"status":"fail"' "$dir/$mode.jsonl"
    mv "$dir/kept" "$dir/tree/$file"
}

"$kiln" gen --tier "$tiers" --out "$dir/tree" >"$dir/said" || exit 1
"$kiln" cases --tier "$tiers" >"$dir/all.tsv" || exit 1
awk -v step="${FULL:+1}" '/^kernel/ && n++ % (step ? step : 4) == 0' \
    "$dir/all.tsv" >"$dir/cases.tsv"
check "the sources are those of out/cuda" diff -r out/cuda "$dir/tree/cuda"
for mode in $modes; do
    check "the harness builds ($mode)" build "$mode"
    judge "$mode" "$dir/cases.tsv"
    count "$mode"
done
mutant "a read past the end" cuda/sm75/silu/map_f32.cu \
    's/arg\.row_size/(arg.row_size + 1)/' asan silu_map_f32_contiguous_a1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
