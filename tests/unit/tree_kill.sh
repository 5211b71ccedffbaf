#!/bin/sh
# tree_kill.sh: kills a run of tree_commit at every file-changing system call.
#
#   tests/unit/tree_kill.sh [DRIVER]     DRIVER: tree_driver.c, built
#
# Needs strace. A run changes, adds and removes 13 files of a tree that also
# holds foreign ones. For each system call S and N = 1, 2, ... until a run
# survives, it is killed on entry to the N-th S:
#
#   exchange   the tree, read through its path, is the old or the new one
#   journal    renameat2 fails, so files are replaced one by one: the tree may
#              be mid-way, but only with a journal beside it
#   nolink     the same with links refused
#   recovery   the run that is killed is one that finishes a killed one
#
# (nolink and recovery take some N only: they run the journal's code again.)
# In each case the next run ends with the new tree and nothing beside it.
# openat is sampled: it changes the disk only where it creates a file, and
# that is followed by a call that is not sampled. Then each call is made to
# fail, once each N: the run either succeeds, or leaves the old tree and
# nothing beside it, or says what it left; and again the next run mends all.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
if ! strace -qq -o /dev/null true; then
    echo 'strace cannot trace here: skipped'
    exit 77
fi
# In memory where possible: a kill, unlike a power cut, needs no disk.
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
driver=${1:-}
from=start
passed=0
failed=0

# File-changing calls, and the calls that change no file.
changing='fchmod fchown linkat mkdirat renameat renameat2 syncfs unlinkat
utimensat write'
harmless='access arch_prctl brk close execve exit_group faccessat faccessat2
fcntl fgetxattr flock fstat fstatfs futex getcwd getdents64 getrandom lseek
lstat mmap mprotect munmap newfstatat openat pread64 prlimit64 read readlink
rseq set_robust_list set_tid_address stat statx'

if [ -z "$driver" ]; then
    driver=$work/driver
    ${CC:-cc} -std=c11 -O1 -I"$top/gen" -I"$top/runtime" \
        "$here/tree_driver.c" "$top"/gen/tree*.c "$top/runtime/core/sha256.c" \
        -o "$driver" || exit 4
fi

# Everything that a reader of the tree can see; of what must keep its times,
# the year too.
snapshot() {
    (cd "$1" && find . -printf '%y %m %p %l\n' \
        \( -path './foreign*' -o -name stay.c -o -name 2.c \) \
        -printf '%p %TY\n' && find . -type f -exec cksum {} +) 2>/dev/null |
        LC_ALL=C sort
}

# The tree before the run: the old state, foreign things, times of long ago.
prepare() {
    mkdir "$work/start"
    "$driver" "$work/start/out" old || exit 4
    (
        cd "$work/start/out" || exit 4
        mkdir -p foreign/empty 'foreign/with space'
        echo mine >'foreign/with space/é.txt'
        echo mine >foreign.txt
        echo mine >a/notes.txt
        chmod 600 foreign.txt
        chmod 640 a/1.c
        ln -s nowhere foreign/link
        ln -s .. foreign/up
        mkfifo foreign/pipe
        find . -exec touch -h -d 2001-01-01 {} +
    ) || exit 4
    cp -a "$work/start" "$work/end"
    "$driver" "$work/end/out" new || exit 4
    snapshot "$work/start/out" >"$work/old.txt"
    snapshot "$work/end/out" >"$work/new.txt"
}

# traced OPTIONS...: a run on a fresh copy; sets status.
traced() {
    rm -rf "$work/run"
    cp -a "$work/$from" "$work/run"
    { # the shell's word on the kill is not wanted
        (exec strace -qq -o /dev/null "$@" "$driver" "$work/run/out" new \
            2>"$work/messages")
        status=$?
    } 2>/dev/null
}

judge() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $1: $2"
    fi
}

clean() {
    [ "$(ls -A "$work/run")" = out ]
}

# The next run, as anyone would start it.
mend() {
    "$driver" "$work/run/out" new || return 1
    snapshot "$work/run/out" | cmp -s - "$work/new.txt" && clean
}

# What is wrong after a kill; nothing when all is well.
fault_after_kill() {
    snapshot "$work/run/out" >"$work/now.txt"
    if ! cmp -s "$work/now.txt" "$work/old.txt" &&
        ! cmp -s "$work/now.txt" "$work/new.txt"; then
        if [ "$1" = exchange ]; then
            echo 'neither the old nor the new tree'
        elif [ ! -e "$work/run/.out.journal" ]; then
            echo 'mid-way without a journal'
        fi
    fi
    mend || echo 'the next run did not mend it'
}

# kills MODE CALL STEP OPTIONS...
kills() {
    mode=$1
    call=$2
    step=$3
    shift 3
    n=1
    while :; do
        traced "$@" -e trace=renameat2,linkat,"$call" \
            -e inject="$call:signal=KILL:when=$n"
        if [ "$status" -ne 137 ]; then
            break
        fi
        judge "$mode: killed at $call $n" "$(fault_after_kill "$mode")"
        n=$((n + step))
    done
    wrong=
    if [ "$status" -ne 0 ] || ! mend; then
        wrong="status $status"
    fi
    judge "$mode: not killed at $call $n" "$wrong"
}

fault_after_error() {
    if [ "$status" -ne 0 ] && ! grep -qE 'in place|unfinished|remove|flush' \
        "$work/messages"; then
        snapshot "$work/run/out" | cmp -s - "$work/old.txt" ||
            echo 'not the old tree'
        clean || echo 'something is left'
    fi
    mend || echo 'the next run did not mend it'
}

# errors MODE CALL ERROR LAST STEP OPTIONS...
errors() {
    mode=$1
    call=$2
    error=$3
    last=$4
    step=$5
    shift 5
    n=1
    while [ "$n" -le "$last" ]; do
        traced "$@" -e trace=renameat2,"$call" \
            -e inject="$call:error=$error:when=$n"
        judge "$mode: $error at $call $n" "$(fault_after_error)"
        n=$((n + step))
    done
}

# No call is in neither list; sets count_CALL for the changing ones.
census() {
    (exec strace -qq -f -o "$work/calls" "$@" "$driver" "$work/run/out" new)
    unknown=
    # shellcheck disable=SC2013,SC2086,SC2116
    for call in $(sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' "$work/calls" |
        sort -u); do
        case " $(echo $changing $harmless) " in
        *" $call "*) ;;
        *) unknown="$unknown $call" ;;
        esac
    done
    judge 'all calls are known' "${unknown:+unknown:$unknown}"
}

count() {
    grep -c "^[0-9]* *$1(" "$work/calls"
}

# mode NAME STEP OPTIONS... The options must leave renameat2 and linkat to their injection.
mode() {
    name=$1
    every=$2
    shift 2
    rm -rf "$work/run"
    cp -a "$work/$from" "$work/run"
    census "$@"
    for call in $changing; do
        case "$call $*" in
        renameat2*renameat2* | linkat*linkat*) continue ;;
        esac
        if [ "$(count "$call")" -gt 0 ]; then
            kills "$name" "$call" "$every" "$@"
        fi
    done
    kills "$name" openat 23 "$@"
}

mode_errors() {
    name=$1
    shift
    for pair in write:ENOSPC mkdirat:ENOSPC syncfs:EIO unlinkat:EIO \
        renameat:EIO fchmod:EIO; do
        total=$(count "${pair%:*}")
        errors "$name" "${pair%:*}" "${pair#*:}" "$total" 3 "$@"
    done
    errors "$name" openat ENOSPC "$(count openat)" 17 "$@"
}

prepare
mode exchange 1
mode_errors exchange
mode journal 1 -e inject=renameat2:error=EINVAL
mode_errors journal -e inject=renameat2:error=EINVAL
mode nolink 6 -e inject=linkat:error=EPERM

# A tree left mid-way, by a kill at the sixth file that is put in place.
traced -e trace=renameat2,renameat -e inject=renameat2:error=EINVAL \
    -e inject=renameat:signal=KILL:when=6
mv "$work/run" "$work/middle"
from=middle
mode recovery 3

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
