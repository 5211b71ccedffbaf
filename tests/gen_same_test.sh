#!/bin/bash
# The same specs give the same bytes: in fresh processes under other time
# zones, masks, folders, locales, homes and spellings of the paths, with spec
# files made in another order, with nothing of the machine in any output.
source tests/gen_lib.sh

# 30 specs with ten attributes each, floats such as 1e-05 among them, beside
# relu and softmax; certified where their tensors are contiguous.
attributes()
{
    local i
    for i in 0 1 2 3 4 5 6; do
        echo "  scale_$i: {type: float, default: 0.$((i + 1))}"
    done
    echo "  eps: {type: float, default: 1.0e-05}"
    echo "  big: {type: float, default: 16777217}"
    if [ "$1" -lt 4 ]; then
        echo "  mode: {type: string, choices: [tiny, INDIGO]," \
            "default: tiny, baked: true}"
    else
        echo "  mode: {type: bool, default: true}"
    fi
}
make_specs()
{
    local name i if
    small_spec "$1" relu softmax
    for i in $(seq 30); do
        name=$(printf 'iota_%d_i' "$i")
        if=$([ "$i" -lt 4 ] && echo 'mode == "tiny"' || echo 'mode > 0')
        cat >"$1/op/$name.yaml" <<EOF
op: $name
family: elementwise
doc: naïve ï/İı 中 x, number $i
tensors:
  x: {role: in, dtype: [f32]}
  y: {role: out, like: x}
attrs:
$(attributes "$i")
formula: if $if then x * scale_0 + eps else (x + 0.$i) * big
limits:
  f32: {ulp: 4}
EOF
    done
}
spec="$work/first/spec"
make_specs "$spec"
keys=contiguous check "30 specs are certified" certify_all "$spec"
check "the first tree" "$kiln" gen --spec "$spec" --out "$work/want"
want=$work/want

# --- fresh processes ---------------------------------------------------------

locales="$work/locales"
mkdir -p "$locales"
for name in de_DE tr_TR; do
    localedef -f UTF-8 -i "$name" "$locales/$name.UTF-8" 2>/dev/null ||
        echo "ok a locale of $name # SKIP localedef cannot make it"
done
zones=(UTC Asia/Kathmandu America/St_Johns Pacific/Kiritimati)
names=(C de_DE.UTF-8 tr_TR.UTF-8 xx_XX.nowhere C.UTF-8)
masks=(022 077 002 027)

# one I: the I-th run, from another folder, into another.
one()
{
    local i=$1 place="$work/place $1/ü"
    mkdir -p "$place"
    (
        cd "$place" || exit 1
        umask "${masks[$((i % 4))]}"
        env -i PATH="$PATH" LOCPATH="$locales" HOME="$place" USER="user$i" \
            LOGNAME="user$i" HOSTNAME="host$i" TMPDIR="$place" \
            TZ="${zones[$((i / 2 % 4))]}" LC_ALL="${names[$((i % 5))]}" \
            LANG=tr_TR.UTF-8 MALLOC_PERTURB_="$((i * 11 % 256))" \
            "$kiln" gen --spec "$spec" --out "$place/out" >said
    ) && diff -r "$want" "$place/out"
}
for i in $(seq 20); do
    check "run $i gives the same tree" one "$i"
done

# --- other spellings, another order ------------------------------------------

backwards()
{
    mkdir -p "$1/op" "$1/tiling" "$1/arch"
    cp -r "$spec/certified" "$1/certified"
    (cd "$spec" && find . -name '*.yaml' | LC_ALL=C sort -r) |
        while read -r file; do
            cp "$spec/$file" "$1/$file"
        done
}
same()
{
    rm -rf "$work/again"
    "$kiln" gen "$@" --out "$work/again" && diff -r "$want" "$work/again"
}
spelt()
{
    (cd "$work/first" && same "$@")
}
backwards "$work/second/spec"
check "spec files made in reverse order" same --spec "$work/second/spec"
disk=$(mktemp -d "${TMPDIR:-/tmp}/kiln-gen.XXXXXX")
backwards "$disk/spec"
check "spec files on another file system" same --spec "$disk/spec"
rm -rf "$disk"
ln -s "$spec" "$work/linked"
cp -r "$spec" "$work/other name"
check "--spec is the default" spelt
check "--spec by a relative path" spelt --spec ./../first/spec/
check "--spec by a link" same --spec "$work/linked"
check "--spec of another name" same --spec "$work/other name"
check "--spec twice" same --spec "$spec" --spec "$work/linked"
check "--ops of all in reverse order" same --spec "$spec" --ops \
    "softmax,relu,$(seq -f 'iota_%.0f_i' -s , 30 -1 1)"

# --- nothing of the machine ---------------------------------------------------

# holds TEXT: whether a file of the tree has it as a word.
lacks()
{
    ! grep -rnwF -- "$1" "$want"
}
lacks_like()
{
    ! grep -rnE -- "$1" "$want"
}
check "no path" lacks "$work"
check "no path of the checkout" lacks "$top"
check "no absolute path" lacks_like '(^|[^*])/(home|root|tmp|usr|var)/'
check "no host name" lacks "$(uname -n)"
check "no user" lacks "$(id -un)@"
check "no home" lacks "${HOME:-/nonexistent}"
check "no year" lacks_like '(19|20)[0-9][0-9][-/.][0-9]'
check "no time of the compiler's" lacks_like '__(DATE|TIME|FILE)__'
check "no carriage return" lacks_like "$(printf '\r')"
check "no blank at a line's end" lacks_like '[ 	]$'
check "hashes in MANIFEST alone" sh -c \
    "! grep -rlE '(^|[^0-9a-f])[0-9a-f]{40,}' '$want' | grep -v /MANIFEST\$"
check "no comma for a point" lacks_like '[^0-9]0,[0-9]'
check "names keep their i" sh -c \
    "grep -q IOTA_1_I '$want/table/cpu/iota_1_i.c' ||
     grep -q 'MAP_F32_INDIGO' '$want/table/cpu/iota_1_i.c'"
check "1e-05 stands with a point or an exponent" grep -q '1e-05' \
    "$want/table/op/iota_1_i.c"
check "16777217 is exact" grep -q '16777217' "$want/table/op/iota_1_i.c"

manifest_is_true()
{
    (cd "$want" && grep -v '^#' MANIFEST | while read -r sum bytes path; do
        echo "$sum  $path" | sha256sum --quiet -c - || exit 1
        [ "$(wc -c <"$path")" -eq "$bytes" ] || exit 1
    done) && (cd "$want" && find . -type f ! -name MANIFEST | cut -c3- |
        LC_ALL=C sort) | diff - <(grep -v '^#' "$want/MANIFEST" | cut -f3)
}
check "MANIFEST lists every file, its bytes and sha256" manifest_is_true

# --- candidates, keys, and our own specs ---------------------------------------

twice()
{
    (cd / && LC_ALL=tr_TR.UTF-8 LOCPATH="$locales" TZ=Asia/Tokyo \
        "$kiln" "$@" --out "$work/b") >/dev/null &&
        LC_ALL=C "$kiln" "$@" --out "$work/a" >/dev/null &&
        diff -r "$work/a" "$work/b"
}
listed()
{
    (cd / && LC_ALL=de_DE.UTF-8 LOCPATH="$locales" "$kiln" keys --spec \
        "$top/spec") >"$work/b.tsv" && "$kiln" keys >"$work/a.tsv" &&
        cmp "$work/a.tsv" "$work/b.tsv"
}
check "candidates are the same everywhere" twice candidates --spec "$spec" \
    --ops softmax,iota_1_i,iota_7_i
rm -rf "$work/a" "$work/b"
check "our own specs' tree is the same everywhere" twice gen --spec "$top/spec"
check "our own keys are the same everywhere" listed
check "keys are sorted by bytes, each once" sh -c \
    "grep -v '^#' '$work/a.tsv' | cut -f1,2,3 >'$work/l' &&
     for tier in \$(cut -f2 '$work/l' | sort -u); do
         awk -F '\\t' -v tier=\$tier '\$2 == tier {print \$1}' '$work/l' |
             LC_ALL=C sort -c || exit 1
     done && ! sort '$work/l' | uniq -d | grep ."
if [ -e out/MANIFEST ]; then
    check "out/ is what spec/ gives" "$kiln" gen --check
else
    echo "ok out/ is what spec/ gives # SKIP out/ is not generated"
fi
