#!/bin/bash
# `kiln gen` on a small spec, over a tree, with allocations refused one at a
# time, and all from one on: those of our code, of Lua, of libyaml and of libc.
# It ends as ever, or with status 4 and a word on memory; the tree is then the
# old one or the new one, and the next run leaves nothing beside it. The
# first and last 40 are refused, and GEN_MEMORY (60) of those between; all with
# GEN_MEMORY=999999. tests/unit/test_gen_memory.c does it with sanitizers, for
# our own code.
source tests/gen_lib.sh
if ! ${CC:-cc} -std=c11 -O1 -fPIC -shared tests/memory/refuse.c \
    -o "$work/refuse.so" 2>"$work/said" ||
    ! LD_PRELOAD=$work/refuse.so REFUSE_COUNT=$work/count "$kiln" --version \
        >"$work/said" 2>&1 || [ ! -s "$work/count" ]; then
    echo "ok refused allocations # SKIP $(head -n 1 "$work/said")"
    exit 0
fi
spec=$work/spec
mkdir -p "$spec/op" "$spec/arch" "$spec/tiling"
map_spec "$spec" part
printf 'arch: cpu\ntier: cpu\nisa: [base]\nfields:\n%s\n%s\n' \
    '  row_tile: 64' '  lattice_bytes: 65536' >"$spec/arch/cpu.yaml"
printf 'ladders:\n  elements: [64]\n' >"$spec/buckets.yaml"
printf 'tiling: elementwise\ntiers:\n  cpu:\n    map: {config: %s}\n' \
    '{block: [4096]}' >"$spec/tiling/elementwise.yaml"
certify_all "$spec" >"$work/said"
"$kiln" gen --spec "$spec" --out "$work/old/out" >"$work/said"
sed -i 's/max(x, 0)/max(x, 1)/' "$spec/op/part.yaml"
certify_all "$spec" >"$work/said"

contents() # all below the folder of the tree, in one line
{
    (cd "$1" && find . -type f -exec cksum {} + | LC_ALL=C sort | cksum)
}
cp -r "$work/old" "$work/new"
LD_PRELOAD=$work/refuse.so REFUSE_COUNT=$work/count \
    "$kiln" gen --spec "$spec" --out "$work/new/out" >"$work/said"
most=$(cat "$work/count")
old=$(contents "$work/old")
new=$(contents "$work/new")
old_out=$(contents "$work/old/out")
new_out=$(contents "$work/new/out")
check "the two trees differ, by $most allocations" test "$old" != "$new" -a \
    "$most" -gt 1000

# judge STATUS: of run $n; sets now.
judge()
{
    now=$(contents "$work/run")
    if [ "$1" -eq 0 ]; then
        whole=$((whole + 1))
        [ "$now" = "$new" ] || bad="$bad; $n: whole, but not the new tree"
        return
    elif [ "$1" -ne 4 ]; then
        bad="$bad; $n: status $1: $(head -n 1 "$work/said")"
        return
    fi
    broken=$((broken + 1))
    grep -qi memory "$work/said" || bad="$bad; $n: $(head -n 1 "$work/said")"
    [ "$now" != "$old" ] || return
    # Something is left beside the tree, which could not be listed: the old
    # tree behind the new one, which it says while there is memory for words;
    # or, when none is left at all, what was staged.
    left=$((left + 1))
    now=$(contents "$work/run/out")
    if [ "$now" = "$new_out" ]; then
        [ "$rest" -eq 1 ] || grep -q "the new one is in place" "$work/said" ||
            bad="$bad; $n: status 4 and the new tree, without a word"
    elif [ "$now" != "$old_out" ] || [ "$rest" -eq 0 ]; then
        bad="$bad; $n: status 4, not the old tree"
    fi
    "$kiln" gen --spec "$spec" --out "$work/run/out" >"$work/said" 2>&1
    [ "$(contents "$work/run")" = "$new" ] ||
        bad="$bad; $n: the next run did not mend it"
}

step=$((most / ${GEN_MEMORY:-60}))
[ "$step" -gt 0 ] || step=1
for rest in 0 1; do
    bad='' whole=0 broken=0 left=0
    rm -rf "$work/run"
    cp -r "$work/old" "$work/run"
    n=1
    while [ "$n" -le "$most" ]; do
        LD_PRELOAD=$work/refuse.so REFUSE=$n REFUSE_REST=$rest \
            "$kiln" gen --spec "$spec" --out "$work/run/out" \
            >"$work/said" 2>&1
        status=$?
        judge "$status"
        if [ "$now" != "$old" ]; then
            rm -rf "$work/run"
            cp -r "$work/old" "$work/run"
        fi
        if [ "$n" -le 40 ] || [ "$n" -gt $((most - 40)) ]; then
            n=$((n + 1))
        else
            n=$((n + step))
            [ "$n" -le $((most - 40)) ] || n=$((most - 39))
        fi
    done
    name=$([ "$rest" -eq 0 ] && echo "one refused" || echo "all from one on")
    if [ -z "$bad" ] && [ "$broken" -gt 20 ]; then
        echo "ok $name: $whole whole, $broken with status 4 ($left left" \
            "something)"
    else
        echo "not ok $name: $whole whole, $broken with status 4"
        echo "# ${bad:0:3000}"
    fi
done
