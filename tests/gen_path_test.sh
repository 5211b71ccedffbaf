#!/bin/bash
# Where the tree lands: paths with blanks and beyond ASCII for repository,
# specs and output, from generating to running a kernel; outputs that cannot
# be written: status 4, the path named, the tree unchanged.
source tests/gen_lib.sh
cc=${CC:-cc}

# --- blanks and beyond ASCII ------------------------------------------------------

home="$work/a home/Größe 大小"
repo="$home/the repo"
mkdir -p "$repo"
cp -r runtime "$repo/runtime"
cp Makefile "$repo/Makefile"
small_spec "$home/my specs" relu
mkdir -p "$home/their specs"
check "certify into a path with blanks" certify_all "$home/my specs" \
    --spec "$home/their specs"
state "$home" >"$work/before"
check "generate" sh -c "cd '$repo' && '$kiln' gen --spec '$home/my specs' \
    --spec '../their specs' --out '$home/the tree/ü' --depfile '$home/d d'"
check "all is in the given folder" sh -c "ls -A '$home' | diff - - <<'EOF'
d d
my specs
the repo
the tree
their specs
EOF
test \"\$(ls -A '$home/the tree')\" = ü && test -z \"\$(ls -A '$repo/out' 2>&-)\""
check "nothing is created elsewhere" test "$(ls -A "$work" | tr '\n' ' ')" = \
    "a home all.jsonl before candidates said "
check "generate into the default folders" sh -c "cd '$repo' &&
    ln -s '../my specs' spec && '$kiln' gen --spec spec \
    --spec '../their specs' && diff -r out '../the tree/ü'"

cat >"$repo/main.c" <<'EOF'
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "kiln/ops.h"

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, kiln_last_error());
    return 1;
}

int main(void)
{
    float x[3] = {-1.5f, 0.25f, 3.0f}, y[3] = {9, 9, 9};
    int64_t n = 3;
    DLTensor in = {.data = x,
                   .device = {kDLCPU, 0},
                   .ndim = 1,
                   .dtype = {kDLFloat, 32, 1},
                   .shape = &n};
    DLTensor out = in;
    const DLTensor *tensors[] = {&in, &out};
    kiln_context *ctx;
    kiln_plan *plan;
    char text[4096];
    printf("locale %s\n", setlocale(LC_ALL, "") ? "is set" : "is unknown");
    out.data = y;
    if (kiln_context_create(&ctx, in.device, NULL) != KILN_OK ||
        kiln_relu(ctx, &in, &out, NULL) != KILN_OK) {
        return fail("relu");
    }
    if (kiln_plan_create(&plan, ctx, "relu", tensors, 2, NULL, 0) != KILN_OK ||
        kiln_plan_describe(plan, text, sizeof text) != KILN_OK) {
        return fail("describe");
    }
    printf("%d\n%s", y[0] == 0 && y[1] == 0.25f && y[2] == 3, text);
    kiln_plan_destroy(plan);
    n = 129;
    in.data = out.data = NULL;
    printf("%d\n%s\n",
           kiln_plan_create(&plan, ctx, "relu", tensors, 2, NULL, 0) ==
               KILN_UNCERTIFIED,
           kiln_last_error());
    kiln_context_destroy(ctx);
    return 0;
}
EOF
check "build" sh -c "cd '$repo' && make -s BUILD=build CC='$cc' lib &&
    '$cc' -std=c11 -Wall -Wextra -Werror -Iruntime -I'$home/the tree/ü/include' \
        main.c build/libkiln.a -lm -pthread -o 'a program'"
run() { (cd / && env -u LANG "$@" "$repo/a program"); }
run LC_ALL=C >"$work/c"
check "run a kernel" test "$(sed -n 2p "$work/c")" = 1
check "describe it" grep -F "relu/map f32 contiguous n=64" "$work/c"
check "an undeclared size is refused" sh -c "tail -n +3 '$work/c' | grep -x 1"
check "with its key, the nearest and the cure" sh -c \
    "grep 'relu/map f32 contiguous n=.*129' '$work/c' &&
     grep -F 'n=128' '$work/c' && grep 'spec/op/relu.yaml' '$work/c' &&
     grep 'make certify' '$work/c'"
locales="$work/locales"
mkdir "$locales"
for name in de_DE tr_TR; do
    if ! localedef -f UTF-8 -i $name "$locales/$name.UTF-8" 2>/dev/null; then
        echo "ok a host program in $name # SKIP localedef cannot make it"
        continue
    fi
    run LOCPATH="$locales" LC_ALL=$name.UTF-8 >"$work/other"
    check "a host program in $name" grep -x "locale is set" "$work/other"
    check "nothing else changes in $name" diff "$work/c" "$work/other"
done
run LC_ALL=xx_XX.nowhere | tail -n +2 >"$work/other"
check "a host program in an unknown locale" sh -c \
    "tail -n +2 '$work/c' | diff - '$work/other'"
rm -rf "$repo/build"

# --- outputs that cannot be written ---------------------------------------------------

spec="$home/my specs"
tree="$work/trees/out"
certify_all "$spec" >/dev/null
"$kiln" gen --spec "$spec" --out "$tree" >/dev/null
sed -i 's/max(x, 0)/max(x, 1)/' "$spec/op/relu.yaml" # all kernels change
certify_all "$spec" >/dev/null
refused() # NAME PATH COMMAND...: status 4, PATH named, the tree unchanged
{
    local name=$1 path=$2
    shift 2
    state "$work/trees" >"$work/before"
    says "$name" 4 "$path" -- "$@"
    check "$name: the tree is unchanged" unchanged "$work/before" "$work/trees"
}
gen() { "$kiln" gen --spec "$spec" --out "$1"; }

echo text >"$work/trees/file"
refused "a regular file" "$work/trees/file" gen "$work/trees/file"
refused "below a regular file" "$work/trees/file" gen "$work/trees/file/out"
ln -s nowhere/at/all "$work/trees/link"
refused "a link to nowhere" "$work/trees/link" gen "$work/trees/link"
mkfifo "$work/trees/pipe"
refused "a pipe" "$work/trees/pipe" gen "$work/trees/pipe"
refused "a device" /dev/null gen /dev/null
refused "a path that is too long" "$work/trees/aaa" gen \
    "$work/trees/$(printf 'a%.0s' $(seq 300))"
refused "a folder of the system" /proc gen /proc/kiln
refused "a depfile below a file" "$work/trees/file/d" "$kiln" gen \
    --spec "$spec" --out "$work/elsewhere" --depfile "$work/trees/file/d"

# As another user, for whom modes count.
if [ "$(id -u)" -ne 0 ]; then
    other() { "$@"; }
elif setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    cp "$kiln" "$work/kiln"
    chmod 755 "$work" "$work/kiln"
    kiln="$work/kiln"
    chown -R 65534:65534 "$work/trees"
else
    echo "ok read-only outputs # SKIP cannot become another user"
    exit 0
fi
chmod -R a+rX "$home"
gen_other() { other "$kiln" gen --spec "$spec" --out "$1"; }
chmod a-w "$work/trees"
refused "a read-only folder around the tree" "$work/trees" gen_other "$tree"
refused "a read-only folder for a new tree" "$work/trees" gen_other \
    "$work/trees/new"
chmod -R a-w "$tree"
chmod u+w "$work/trees"
refused "a read-only tree" "$tree" gen_other "$tree"
check "a read-only tree can be checked" sh -c \
    "$(declare -f other gen_other); kiln='$kiln' spec='$spec'
     other '$kiln' gen --check --spec '$spec' --out '$tree'; test \$? -eq 3"
chmod -R u+w "$tree"
chmod a-w "$tree/cpu/relu"
gen_other "$tree" >"$work/told" 2>&1
case $? in
0)  check "a read-only folder in the tree is replaced whole" \
        "$kiln" gen --check --spec "$spec" --out "$tree" ;;
4)  check "a read-only folder in the tree is named" grep "$tree" \
        "$work/told" ;;
*)  echo "not ok a read-only folder in the tree" ;;
esac
chmod -R u+w "$work/trees"
check "then it is written" gen_other "$tree"
check "and is fresh" "$kiln" gen --check --spec "$spec" --out "$tree"
check "nothing lies beside it" test "$(ls -A "$work/trees" | tr '\n' ' ')" = \
    "file link out pipe "

unreadable="$spec/op/relu.yaml"
chmod 000 "$unreadable"
says "a spec that cannot be read" 4 "$unreadable" "Permission denied" -- \
    gen_other "$tree"
chmod 644 "$unreadable"
chmod 000 "$spec/op"
says "a folder that cannot be read" 4 "$spec/op" "Permission denied" -- \
    gen_other "$tree"
chmod 755 "$spec/op"
