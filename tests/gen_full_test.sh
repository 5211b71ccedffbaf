#!/bin/bash
# A disk that is full, at any point of a run: gen, candidates and certify end
# with status 4 and name the path; the tree is what it was, and nothing lies
# beside it. The disk is a tmpfs in a mount namespace of its own.
if [ "${1:-}" != --inside ]; then
    if unshare --mount true 2>/dev/null; then
        exec unshare --mount bash "$0" --inside
    elif unshare --map-root-user --mount true 2>/dev/null; then
        exec unshare --map-root-user --mount bash "$0" --inside
    fi
    echo "ok full disk # SKIP no mount namespace here"
    exit 0
fi
source tests/gen_lib.sh
disk=$work/disk
mkdir "$disk"
if ! mount -t tmpfs -o size=8m,mode=755 kiln-test "$disk" 2>"$work/said"; then
    echo "ok full disk # SKIP $(head -n 1 "$work/said")"
    exit 0
fi
trap 'umount "$disk"; chmod -R u+w "$work"; rm -rf "$work"' EXIT

spec=$work/spec
small_spec "$spec" relu
certify_all "$spec" >"$work/said"
mkdir "$work/old"
"$kiln" gen --spec "$spec" --out "$work/old/out" >"$work/said"
cp -r "$spec" "$work/old/spec"
sed -i 's/max(x, 0)/max(x, 1)/' "$spec/op/relu.yaml"
certify_all "$spec" >"$work/said"
sed 's/"us":1\.5/"us":1.25/' "$work/all.jsonl" >"$work/other.jsonl"

# leave PAGES: so many pages of the disk stay free.
leave()
{
    local free
    rm -f "$disk/ballast"
    sync -f "$disk" 2>/dev/null
    free=$(stat -f -c %f "$disk")
    head -c "$(((free - $1) * 4096))" /dev/zero >"$disk/ballast"
}

# held: all on the disk, but for the times of the folders that hold a tree: it
# is staged there.
held()
{
    state "$disk" | sed "s,^\($disk\(/spec/certified\)\? d [0-7]*\) .*,\1,"
}

# full NAME PATH PREPARE COMMAND...: COMMAND with 0, 1, 2, ... pages left, until
# it succeeds; each time PREPARE makes what is there before.
full()
{
    local name=$1 path=$2 prepare=$3 pages=0 bad='' refused=0 status
    shift 3
    while [ "$pages" -lt 1500 ]; do
        find "$disk" -mindepth 1 -delete
        $prepare
        leave "$pages"
        held >"$work/before"
        "$@" >"$work/said" 2>&1
        status=$?
        [ "$status" -ne 0 ] || break
        refused=$((refused + 1))
        [ "$status" -eq 4 ] || bad="$bad; $pages pages: status $status"
        grep -qF 'No space left on device' "$work/said" ||
            bad="$bad; $pages pages: $(head -n 1 "$work/said")"
        grep -qF "$path" "$work/said" || bad="$bad; $pages pages: no path"
        held | diff "$work/before" - >"$work/differs" ||
            bad="$bad; $pages pages: changed $(head -n 3 "$work/differs" |
                tr '\n' ' ')"
        pages=$((pages + 1 + pages / 4))
    done
    if [ -z "$bad" ] && [ "$refused" -gt 0 ] && [ "$status" -eq 0 ]; then
        echo "ok $name: refused $refused times, then written"
    else
        echo "not ok $name: refused $refused times, $pages pages"
        echo "# ${bad:0:2000}"
    fi
}
with_tree() { cp -a "$work/old/out" "$disk/out"; }
with_specs() { cp -a "$spec" "$disk/spec"; }
with_nothing() { :; }

full "gen over a tree" "$disk" with_tree \
    "$kiln" gen --spec "$spec" --out "$disk/out"
check "the tree is fresh then" "$kiln" gen --check --spec "$spec" \
    --out "$disk/out"
check "nothing lies beside it" test "$(ls -A "$disk" | tr '\n' ' ')" = \
    "ballast out "
full "gen of a new tree" "$disk" with_nothing \
    "$kiln" gen --spec "$spec" --out "$disk/out"
check "the new tree is fresh then" "$kiln" gen --check --spec "$spec" \
    --out "$disk/out"
full "candidates" "$disk" with_nothing \
    "$kiln" candidates --spec "$spec" --out "$disk/candidates"
full "certify" "$disk" with_specs \
    "$kiln" certify --spec "$disk/spec" "$work/other.jsonl"

# A tree that stands, and a depfile for which there is no room.
find "$disk" -mindepth 1 -delete
"$kiln" gen --spec "$spec" --out "$work/tree" >"$work/said"
leave 0
says "a depfile on a full disk" 4 "$disk/d" "No space left" -- \
    "$kiln" gen --spec "$spec" --out "$work/tree" --depfile "$disk/d"
check "no half of it is left" test "$(ls -A "$disk")" = ballast

# No inode is left: nothing can be made, however small.
umount "$disk"
mount -t tmpfs -o size=8m,nr_inodes=40,mode=755 kiln-test "$disk"
with_tree
i=0
while : 2>/dev/null >"$disk/inode-$i"; do i=$((i + 1)); done 2>/dev/null
state "$disk" >"$work/before"
says "no inode is left" 4 "$disk" "No space left" -- \
    "$kiln" gen --spec "$spec" --out "$disk/out"
check "then nothing has changed" unchanged "$work/before" "$disk"

# A disk that is read-only.
mount -o remount,ro "$disk"
says "a read-only disk" 4 "$disk" "Read-only file system" -- \
    "$kiln" gen --spec "$spec" --out "$disk/out"
check "then nothing has changed either" unchanged "$work/before" "$disk"
says "and can be checked" 3 "to mend" -- \
    "$kiln" gen --check --spec "$spec" --out "$disk/out"
