#!/bin/bash
# YAML as users write it, from file to generated table: texts that YAML 1.1 and
# 1.2, or two readers, took for different things, each by its case's name; and
# hostile files in every place where a spec may stand. An error names file,
# line and column, and leaves no tree behind.
source tests/gen_lib.sh
base=$work/base
small_spec "$base" relu
cd "$work" || exit 1

# refused NAME PLACE TEXT... < FILE: the text as an op's file.
refused()
{
    local name=$1 place=$2
    shift 2
    mkdir -p over/op
    cat >over/op/part.yaml
    says "$name" 1 "over/op/part.yaml:$place" "$@" -- \
        "$kiln_san" gen --spec "$base" --spec over --out never
    [ ! -e never ] || echo "not ok $name: it made a tree"
    rm -rf over never
}
bytes() { printf '%b' "$1"; }

# --- refused as a text ---------------------------------------------------------

bytes 'op: relu\nop: gelu\n' | refused dup-key-block 2:1: "duplicate key op"
bytes 'attrs:\n  number: 10\n  number: 20\n' |
    refused dup-key-nested 3:3: "duplicate key number"
{
    echo 'a: &a [x,x,x,x,x,x,x,x,x]'
    last=a
    for name in b c d e f g h i; do
        echo "$name: &$name [$(printf "*$last,%.0s" 1 2 3 4 5 6 7 8)*$last]"
        last=$name
    done
} | refused alias-bomb-9x9 6:8: "alias expansion limit"
bytes 'a:\n\tb: 1\n' | refused tab-indent 2:1: "tab used for indentation"
bytes 'base: &b {a: 1, c: 3}\nx:\n  <<: *b\n  a: 2\n' |
    refused merge-key 3:3: "merge keys are not supported"

# --- values --------------------------------------------------------------------

# op_of ATTRS [FORMULA]: an op that has them.
op_of()
{
    cat <<END
op: part
family: elementwise
tensors:
  x: {role: in, dtype: [f32]}
  y: {role: out, like: x}
attrs:
$1
formula: ${2:-x}
limits:
  f32: {ulp: 4}
END
}
# table NAME TEXT... < FILE: the op's table holds each text.
table()
{
    local name=$1 bad='' text
    shift
    mkdir -p over/op
    cat >over/op/part.yaml
    "$kiln_san" gen --spec "$base" --spec over --out tree >said 2>&1 ||
        bad=$(head -n 3 said)
    for text in "$@"; do
        grep -qF -- "$text" tree/table/op/part.c 2>>said ||
            bad="$bad; lacks $text"
    done
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror \
        -I"$top/runtime" -fsyntax-only tree/table/op/part.c 2>>said ||
        bad="$bad; does not compile"
    if [ -z "$bad" ]; then
        echo "ok $name"
    else
        echo "not ok $name"
        echo "# $bad"
    fi
    rm -rf over tree
}
# wrong NAME PLACE TEXT < ATTRS: an op with such attributes is refused.
wrong() { op_of "$(cat)" | refused "$@"; }

op_of '  eps: {type: float, default: 1e-5}' | table float-1e-5 1e-05
op_of '  eps: {type: float, default: 1.0e-05}' |
    table "float-1e-5, as 1.0e-05" 1e-05
op_of '  n: {type: float, default: 1e3}' | table float-1e3 1000.0
wrong "float-1e3 as an int" 7:27: "expects an integer, not 1e3" \
    <<<'  n: {type: int, default: 1e3}'
op_of '  layout: {type: string, choices: [no, yes, on, 1.10], default: no}' |
    table norway-value '"no"' '"yes"' '"on"' '"1.10"'
op_of '  on: {type: int, default: 1}
  off: {type: int, default: 2}' | table norway-key '"on"' '"off"'
wrong bool-field-yes 7:33: "default expects true or false, not yes" \
    <<<'  causal: {type: bool, default: yes}'
for value in 2147483648 9007199254740993 8421999999999995999 \
    -9223372036854775807 9223372036854775807; do
    op_of "  n: {type: int, default: $value}" | table "int-$value" "$value"
done
op_of '  n: {type: int, default: -9223372036854775808}' |
    table int-minus-9223372036854775808 INT64_MIN
wrong "int past int64" 7:27: "64-bit" \
    <<<'  n: {type: int, default: 9223372036854775808}'
wrong "int below int64" 7:27: "64-bit" \
    <<<'  n: {type: int, default: -9223372036854775809}'
op_of '  a: {type: float, default: .inf}
  b: {type: float, default: -.inf}
  c: {type: float, default: .nan}' 'if a > b then x else c' |
    table float-inf-nan '{"a", KILN_TYPE_FLOAT, 0, 0, 0, INFINITY,' \
        '{"b", KILN_TYPE_FLOAT, 0, 0, 0, -INFINITY,' \
        '{"c", KILN_TYPE_FLOAT, 0, 0, 0, NAN,'
for value in inf nan Infinity NaN; do
    wrong "float-inf-nan: $value is none" 7:29: "$value" \
        <<<"  a: {type: float, default: $value}"
done
{ printf '\357\273\277'; op_of '  n: {type: int, default: 12345}'; } |
    table bom-map 12345
printf '\357\273\277- a: 1\n  b: 2\n' |
    refused bom-sequence-of-map 1:1: "op expects a map"
op_of '  n: {type: int, default: 12345}' | sed 's/^op: /op:\t/' |
    table tab-after-colon 12345
op_of '  n: &n {type: int, default: 12345}
  m: *n' | table alias-benign 12345 '"n"' '"m"'

# --- hostile files, in every place ------------------------------------------------

# each NAME LINE TEXT < FILE: the text in place of each kind of spec file.
each()
{
    local name=$1 place=$2 text=$3 file
    cat >text
    for file in op/part.yaml tiling/elementwise.yaml arch/cpu.yaml \
        buckets.yaml budget.yaml census/some.yaml; do
        mkdir -p "over/${file%/*}"
        [ "${file%/*}" != "$file" ] || rmdir "over/$file"
        cp text "over/$file"
        says "$name in $file" 1 "over/$file:$place" "$text" -- \
            "$kiln_san" gen --spec "$base" --spec over --out never
        [ ! -e never ] || echo "not ok $name: it made a tree"
        rm -rf over never
    done
}
bytes 'a:\n  b: 1\n\tc: 1\n' | each "a tab" 3:1: "tab"
bytes 'a: 1\nb: 2\na: 3\n' | each "a duplicate" 3:1: "duplicate key a"
bytes 'a: \303\050\n' | each "bad UTF-8" 1:4: "invalid UTF-8: byte 0xc3"
bytes 'a: \300\257\n' | each "overlong UTF-8" 1:4: "invalid UTF-8: byte 0xc0"
bytes 'a: b\000c\n' | each "a NUL" 1:5: "U+0000"
printf '[%.0s' $(seq 10000) | each "10,000 levels" 1:65: "nesting deeper than 64"
seq -f '%.0f: {' 1 10000 | tr '\n' ' ' |
    each "10,000 maps" 1: "nesting deeper than 64"
bytes 'a: *b\n' | each "an alias of nothing" 1:4: "has no anchor before it"
bytes 'a: !!python/object:os.system x\n' | each "a tag" 1:4: "tags are not supported"
bytes 'a: [1, 2\n' | each "an open list" 2:1: "expected ',' or ']'"
bytes 'a: "x\n' | each "an open text" 2:1: "ends too early"
: | each "an empty file" 1:1: "empty file"
bytes 'a: 1\n---\nb: 2\n' | each "two documents" 2:1: "a second document"
bytes '\377\376a\000' | each "UTF-16" 1:1: "save the file as UTF-8"

# A file of 100 MB is refused by its size; it is not read. A sparse one takes
# no room here.
for file in op/part.yaml tiling/elementwise.yaml arch/cpu.yaml buckets.yaml \
    budget.yaml census/some.yaml; do
    mkdir -p "over/${file%/*}"
    [ "${file%/*}" != "$file" ] || rmdir "over/$file"
    truncate -s 100M "over/$file"
    says "100 MB in $file" 1 "over/$file: larger than 16 MB" -- \
        prlimit --as=104857600 "$kiln" gen --spec "$base" --spec over --out never
    rm -rf over
done
mkdir -p over/op
{
    op_of '  n: {type: int, default: 1}'
    yes '# a comment of a hundred bytes, again and again, until there is no room for more of them .......' |
        head -c 15000000
} >over/op/part.yaml
says "15 MB of comments" 0 -- \
    prlimit --as=419430400 "$kiln" check --spec "$base" --spec over
{
    printf 'op: part\ndoc: "'
    head -c 15000000 /dev/zero | tr '\0' a
    printf '"\n'
} >over/op/part.yaml
says "a text of 15 MB" 1 "over/op/part.yaml:" -- \
    prlimit --as=419430400 "$kiln" check --spec "$base" --spec over
check "what it says is short" test "$(wc -c <said)" -lt 20000
yes 'part: x' | head -n 200000 >over/op/part.yaml
says "200,000 duplicates" 1 "over/op/part.yaml:2:1: duplicate key part" more -- \
    "$kiln" check --spec "$base" --spec over
check "20 a file are shown" test "$(grep -c 'duplicate key' said)" -le 20
rm -rf over

# What stands in a spec's place and is none.
odd() # NAME TEXT...: over/op/part.yaml is there already.
{
    local name=$1
    shift
    says "$name" "$@" -- timeout 20 "$kiln" gen --spec "$base" --spec over \
        --out never
    [ ! -e never ] || echo "not ok $name: it made a tree"
    rm -rf over
}
mkdir -p over/op && mkfifo over/op/part.yaml
odd "a pipe" 1 "over/op/part.yaml"
mkdir -p over/op && ln -s /dev/zero over/op/part.yaml
odd "an endless device" 1 "over/op/part.yaml"
mkdir -p over/op/part.yaml
odd "a folder" 1 "over/op/part.yaml"
mkdir -p over/op && ln -s part.yaml over/op/part.yaml
odd "a link to itself" 1 "over/op/part.yaml"
mkdir -p over/op && ln -s nowhere over/op/part.yaml
odd "a link to nowhere" 1 "over/op/part.yaml"
mkdir -p over && ln -s . over/op
odd "a folder in itself" 1 "over/op"
