#!/bin/bash
# `kiln gen` and `kiln certify`, killed on entry to each of their file-changing
# system calls, in runs in which at least 8 files change: what they write is
# then the old tree or the new one, byte for byte, and the next run makes it
# the new one and leaves nothing beside it. tests/unit/tree_kill.sh does the
# same to the writer of trees alone, in all of its modes.
source tests/gen_lib.sh
if ! strace -qq -o /dev/null true 2>"$work/said"; then
    echo "ok kill # SKIP strace cannot trace here: $(head -n 1 "$work/said")"
    exit 0
fi
changing='fchmod fchmodat fchown fchownat ftruncate linkat mkdirat openat
    pwrite64 renameat renameat2 symlinkat syncfs fsync unlinkat utimensat write'
reading='access arch_prctl brk close execve exit_group faccessat faccessat2
    fcntl fgetxattr flock fstat futex getcwd getdents64 getrandom lseek lstat
    mmap mprotect munmap newfstatat open pread64 prlimit64 read readlink
    readlinkat rseq rt_sigaction rt_sigprocmask set_robust_list
    set_tid_address sigaltstack stat statx sysinfo umask uname'

spec="$work/spec"
small_spec "$spec" relu
for name in a b c d; do map_spec "$spec" "part_$name"; done
certify_all "$spec" >"$work/said"
mkdir "$work/start"
"$kiln" gen --spec "$spec" --out "$work/start/out" >"$work/said"
echo mine >"$work/start/out/ours.txt"
cp -a "$spec" "$work/start/spec"
# All of one op's kernels change, an op goes and one comes.
edit()
{
    sed -i 's/max(x, 0)/max(x, 1)/' "$1/op/relu.yaml"
    rm "$1/op/part_a.yaml"
    map_spec "$1" part_e
}

bytes() # FOLDER: names and contents of all below
{
    (cd "$1" && find . | LC_ALL=C sort &&
        find . -type f -exec cksum {} + | LC_ALL=C sort -k 3)
}
# traced OPTION... -- COMMAND...: sets status; silent.
traced()
{
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    {
        (exec strace -qq -f -o "$work/log" "${options[@]}" "$@" \
            >"$work/said" 2>&1)
        status=$?
    } 2>/dev/null
}

# judge WHERE: what the killed run left, in $work/run; then the next run.
judge()
{
    local left
    bytes "$work/run/$tree" >"$work/now"
    if cmp -s "$work/now" "$work/bytes.old"; then
        olds=$((olds + 1))
    elif cmp -s "$work/now" "$work/bytes.new"; then
        news=$((news + 1))
    else
        bad="$bad, killed at $1: neither the old nor the new tree"
    fi
    if ! "${again[@]}" >"$work/said" 2>&1; then
        bad="$bad, killed at $1: the next run: $(head -n 1 "$work/said")"
    fi
    bytes "$work/run" >"$work/now"
    left=$(diff "$work/now" "$work/bytes.end" | head -n 2 | tr '\n' ' ')
    [ -z "$left" ] || bad="$bad, killed at $1: after the next run $left"
}

# kills NAME TREE COMMAND...: $work/start holds what is there before; COMMAND
# works on $work/run.
kills()
{
    local name=$1 call n runs=0 step
    tree=$2
    shift 2
    again=("$@")
    bad='' olds=0 news=0
    rm -rf "$work/run"
    cp -a "$work/start" "$work/run"
    bytes "$work/run/$tree" >"$work/bytes.old"
    traced -- "$@"
    bytes "$work/run/$tree" >"$work/bytes.new"
    bytes "$work/run" >"$work/bytes.end"
    sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' "$work/log" | sort -u >"$work/calls"
    # shellcheck disable=SC2086 # names are several
    printf '%s\n' $changing $reading | sort -u >"$work/known"
    check "$name: all its system calls are known" sh -c \
        "comm -13 '$work/known' '$work/calls' | { ! grep .; }"
    check "$name: at least 8 files change" test "$(diff \
        <(grep -v '^\.' "$work/bytes.old") <(grep -v '^\.' "$work/bytes.new") |
        grep -c '^>')" -ge 8
    for call in $changing; do
        grep -qx "$call" "$work/calls" || continue
        # A file is opened many times for each that is made.
        step=1
        [ "$call" != openat ] || step=9
        for ((n = 1; ; n += step)); do
            rm -rf "$work/run"
            cp -a "$work/start" "$work/run"
            traced -e trace="$call" -e inject="$call:signal=KILL:when=$n" -- "$@"
            [ "$status" -eq 137 ] || break
            runs=$((runs + 1))
            judge "$call $n"
        done
        [ "$status" -eq 0 ] || bad="$bad, $call $n: exit status $status"
    done
    check "$name: $runs kills, the tree is the old or the new one" sh -c \
        "test -z '$bad' || { echo '$bad'; false; }"
    check "$name: both were seen" test "$olds" -gt 10 -a "$news" -gt 2
}

edit "$work/start/spec"
certify_all "$work/start/spec" >"$work/said"
kills "gen" out "$kiln" gen --spec "$work/run/spec" --out "$work/run/out"

# Every certificate is written anew.
sed 's/"us":1\.5/"us":1.25/; s/"error":0.25/"error":0.5/' "$work/all.jsonl" \
    >"$work/other.jsonl"
kills "certify" spec/certified/cpu "$kiln" certify --spec "$work/run/spec" \
    "$work/other.jsonl"
