#!/bin/bash
# Specs that must be refused, at their place: names, collisions, what is
# proved of buckets, routes and configs, budgets. And overlays: what a later
# folder replaces and extends.
source tests/gen_lib.sh
base="$work/base"
small_spec "$base" relu softmax
cd "$work" || exit 1

# --- the folder of mistakes ---------------------------------------------------------

mistakes()
{
    (cd "$top/tests/unit/specs" && "$kiln_san" check --spec bad 2>&1) >told
    [ $? -eq 1 ] && diff told "$top/tests/unit/specs/bad.expected"
}
check "52 mistakes in one folder" mistakes
check "each has its place" sh -c \
    "! grep -vE '^bad/[^:]*(:[0-9]+:[0-9]+: |: unknown file)' told"

# --- one thing wrong -------------------------------------------------------------------

# wrong NAME PLACE TEXT... -- : the overlay `over` is refused by check and gen,
# at PLACE.
wrong()
{
    local name=$1 place=$2 command
    shift 2
    for command in check gen; do
        says "$name ($command)" 1 "$place" "$@" -- "$kiln_san" "$command" \
            --spec "$base" --spec over
    done
    rm -rf over
}
# change FILE SED: FILE of our specs, edited, in the overlay.
change()
{
    mkdir -p "over/${1%/*}"
    sed "$2" "$base/$1" >"over/$1"
    ! cmp -s "over/$1" "$base/$1" || echo "not ok sed $2 of $1"
}
# place FILE TEXT [N]: where TEXT, or its N-th character, first stands in FILE.
place()
{
    awk -v text="$2" -v n="${3:-1}" -v file="$1" 'index($0, text) {
        print file ":" NR ":" index($0, text) + n - 1 ":"; exit }' "$1"
}
ladders() { mkdir -p over; printf 'ladders:\n  %s\n' "$@" >over/buckets.yaml; }

ladders 'elements: [64, 256]'
wrong "a bucket of a factor 4" "over/buckets.yaml:2:18: bucket 65..256" "128"
ladders 'elements: [64, 129]'
wrong "a bucket just past a factor 2" "over/buckets.yaml:2:18:" "at most 128"
ladders 'elements: [65, 128]'
wrong "a first bucket past 64" "over/buckets.yaml:2:14: bucket 1..65"
ladders 'elements: [64, 64]'
wrong "an edge twice" "over/buckets.yaml:2:18: edge 64"
ladders 'elements: [64, 32]'
wrong "a falling edge" "over/buckets.yaml:2:18: edge 32"
ladders 'elements: [9223372036854775807, 9223372036854775808]'
wrong "an edge past 64 bits" "over/buckets.yaml:2:35:" "64-bit"
ladders 'elements: [64, 128]'
says "a factor 2 is allowed" 0 -- "$kiln" check --spec "$base" --spec over
rm -r over

change op/softmax.yaml 's/N <= arch.row_tile/N <= 1000 * arch.row_tile/'
wrong "a route that no bucket takes" "$(place over/op/softmax.yaml '{variant: looped')" \
    "variant looped is unreachable"
change op/softmax.yaml 's/N <= arch.row_tile/N < 1/'
wrong "a route that no size takes" "$(place over/op/softmax.yaml '{variant: single_tile')" \
    "variant single_tile is unreachable"
change op/softmax.yaml 's/, when: N <= arch.row_tile//'
wrong "a route behind one that always holds" "$(place over/op/softmax.yaml '{variant: looped')" \
    "route looped is never reached"
change op/softmax.yaml 's/single_tile/singel_tile/'
wrong "a variant that no tiling has" "$(place over/op/softmax.yaml '{variant: singel_tile')" \
    "did you mean single_tile?"
change op/softmax.yaml 's/arch.row_tile/arch.row_tiles/'
wrong "a field that no profile has" "$(place over/op/softmax.yaml 'arch.row_tiles')" row_tiles
change op/softmax.yaml 's/bucket(cols, N)/bucket(colls, N)/'
wrong "a ladder that is not there" "$(place over/op/softmax.yaml '"bucket(colls')" \
    "did you mean cols?"
change op/softmax.yaml 's/M \* N \* dtype_size/M \* N \/\/ 0 \* dtype_size/'
wrong "a division by zero" "$(place over/op/softmax.yaml op:)" "zero"
change op/softmax.yaml 's/{x: \[M, N\]}/{x: [M, N \/ 2]}/'
wrong "a lattice of fractions" "$(place over/op/softmax.yaml 'x: [M, N / 2]')" "not an integer"
change op/softmax.yaml 's/{x: \[M, N\]}/{x: [1, 1, 1, 1, 1, 1, 1, M, N]}/'
wrong "a lattice of rank 9" "$(place over/op/softmax.yaml 'N]}')" "at most 8 dims"

single='    single_tile: '
change tiling/softmax.yaml "s/^$single{\(.*\)}\$/$single{\1, require: lanes > 64}/"
wrong "configs that require refuses" "over/tiling/softmax.yaml:" \
    "require refuses every config for softmax/single_tile"
change tiling/softmax.yaml "s/^$single{\(.*\)}\$/$single{\1, require: lanes}/"
wrong "a require that is no condition" "over/tiling/softmax.yaml:" \
    "true or false"
change tiling/softmax.yaml "s/^$single{\(.*\)}\$/$single{\1, require: lane > 1}/"
wrong "a require of another name" "over/tiling/softmax.yaml:" "lane"
change tiling/softmax.yaml "s/^  cpu:/  sm90:/"
wrong "a tiling without the tier" "over/tiling/softmax.yaml:" \
    "no configs for variant looped on tier cpu, which op softmax needs"
sed "s/^$single{\(.*\)}\$/$single{\1, require: lanes > 32}/" \
    "$base/tiling/softmax.yaml" >tiled
mkdir -p over/tiling && mv tiled over/tiling/softmax.yaml
says "a require that some configs meet" 0 -- \
    "$kiln" check --spec "$base" --spec over
rm -r over

map_spec over "$(printf 'a%.0s' $(seq 40))"
wrong "a kernel name of 64 characters" "over/op/aaaa" \
    "_map_f32_contiguous_block4096 is over 63 characters"
map_spec over "$(printf 'a%.0s' $(seq 34))"
says "a kernel name of 63 characters" 0 -- \
    "$kiln" check --spec "$base" --spec over
rm -r over

attr() # attr TEXT: op part with the attribute p.
{
    map_spec over part "${2:-x * p}"
    sed -i "/^formula/i attrs:\n  p: $1" over/op/part.yaml
}
attr '{type: int, default: 128, baked: true}'
wrong "a baked int past 127" "$(place over/op/part.yaml 128)" "from -128 to 127"
attr '{type: int, default: -129, baked: true}'
wrong "a baked int below -128" "$(place over/op/part.yaml -129)" "from -128 to 127"
attr '{type: int, default: 1000}'
says "an int that is not baked" 0 -- "$kiln" check --spec "$base" --spec over
rm -r over
attr '{type: int, baked: true}'
wrong "a baked int without values" "over/op/part.yaml:1:1:" "attribute p"
attr "{type: string, choices: [$(seq -f 'c%.0f' -s ', ' 17)], default: c1, baked: true}" x
wrong "17 baked choices" "$(place over/op/part.yaml '[c1,')" "at most 16"
attr "{type: string, choices: [a-b, a_b], default: a_b, baked: true}" x
wrong "choices that collide once cleaned" "$(place over/op/part.yaml a_b)" "rename one"
for type in "int, default: 1" "bool, default: true"; do
    attr "{type: $type, baked: true}" y
    wrong "a formula of unknown names" "over/op/part.yaml:8:10:" "y"
done
attr '{type: int, default: 1}' 'size(x, 0)'
wrong "a formula with a planner's function" "over/op/part.yaml:8:10:" size
map_spec over part
sed -i 's/\[f32\]/[f32, f16]/' over/op/part.yaml
wrong "a dtype without limits" "over/op/part.yaml:8:3:" "no limits"
map_spec over part
sed -i 's/f32/i32/' over/op/part.yaml
wrong "a dtype that kernels do not hold" "over/op/part.yaml:4:3:" \
    "hold no i32"
map_spec over part
sed -i 's/^  y:/  z: {role: in, dtype: [f32], optional: true}\n  y:/' \
    over/op/part.yaml
wrong "a formula of an optional input" "over/op/part.yaml:5:3:" "optional"
map_spec over part
sed -i 's/role: out, like: x/role: inout, dtype: [f32]/' over/op/part.yaml
wrong "a formula that writes its input" "over/op/part.yaml:5:3:" "inout"

# --- names ---------------------------------------------------------------------------------

named() # named NAME FILE TEXT: an op of that name is refused.
{
    map_spec over "$2"
    sed -i "s/^op: .*/op: $1/" "over/op/$2.yaml"
    wrong "an op named ${1:0:40}" "over/op/$2.yaml:1:5:" "$3"
}
named default default "belongs to C"
named int int "belongs to C"
named class class "belongs to C++"
named "then" "then" "belongs to the expression language"
named 3d_conv 3d_conv "write d_conv"
named __x __x "write x"
named A_b A_b "write a_b"
named '""' empty "a name is"
named "''" empty "a name is"
named "$(printf 'a%.0s' $(seq 300))" long "at most 40 characters, not 300"
named 'ünï' unicode "a name is"
named units units "a folder of the tree"
map_spec over longest
mv over/op/longest.yaml "over/op/$(printf 'a%.0s' $(seq 250)).yaml"
wrong "a file name of 255 bytes" "over/op/aaaa" "must stand in longest.yaml"
for name in a-b a.b; do
    map_spec over "$name"
done
map_spec over a_b
wrong "a-b, a.b and a_b: the first" "over/op/a-b.yaml:1:5:" "write a_b"
for name in a-b a.b; do
    map_spec over "$name"
done
wrong "a-b, a.b and a_b: the second" "over/op/a.b.yaml:1:5:" "write a_b"

# Every name of the public header that an op's C function could have.
taken()
{
    local name
    grep -o 'kiln_[a-z_]*' "$top/runtime/kiln.h" | sort -u | cut -c6- |
        while read -r name; do map_spec over "$name"; done
    for name in attr tensor keys; do map_spec over "$name"; done
    "$kiln" check --spec "$base" --spec over >told 2>&1 && return 1
    ls over/op | sed 's/\.yaml$//' >want
    sed -n 's/^over\/op\/\([a-z_]*\)\.yaml:1:5: .*is runtime.*/\1/p' told |
        uniq | diff - want && [ "$(wc -l <want)" -gt 20 ]
}
check "ops whose functions the runtime has already" taken
rm -rf over
for name in ctx stream tensors attrs kiln_run x_row; do
    map_spec over part
    sed -i "s/^  y:/  $name: {role: in, dtype: [f32]}\n  y:/" over/op/part.yaml
    wrong "a tensor named $name" "over/op/part.yaml:5:3:" "$name"
done

# compiles TREE: every C file of it, and its header also as C++.
compiles()
{
    local file isa
    for file in "$1"/cpu/units/*.c "$1"/table/*.c "$1"/table/*/*.c; do
        case $file in *avx2*) isa='-mavx2 -mfma -mf16c' ;; *) isa= ;; esac
        # shellcheck disable=SC2086
        ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
            -Wcomment -Werror $isa -I"$top/runtime" -I"$1/include" \
            -fsyntax-only "$file" || return 1
    done
    echo '#include "kiln/ops.h"' >uses.c
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wcomment -Werror \
        -I"$top/runtime" -I"$1/include" -fsyntax-only uses.c &&
        ${CXX:-c++} -x c++ -std=c++17 -Wall -Wextra -Wcomment -Werror \
            -I"$top/runtime" -I"$1/include" -fsyntax-only uses.c
}
mkdir -p over/op
cat >over/op/linux.yaml <<'EOF'
op: linux
family: elementwise
doc: "*/ /* ??/ \\"
pytorch: "a*/b"
tensors:
  row: {role: in, dtype: [f32, f16]}
  index: {role: in, dtype: [f32]}
  arg: {role: in, dtype: [f32]}
  args: {role: in, dtype: [f32]}
  unit: {role: in, dtype: [f32]}
  first: {role: in, dtype: [f32]}
  last: {role: in, dtype: [bool]}
  stop: {role: out, dtype: [f32]}
attrs:
  block: {type: float, default: 1}
  rows: {type: float, default: 2.5}
  size: {type: int, default: -9223372036854775808}
  rank: {type: int, default: 3}
  coef_0: {type: float, default: 1.0e-05}
  two: {type: float, default: 2}
  col: {type: int, default: -3, baked: true}
  value: {type: bool, default: false, baked: true}
  mode: {type: string, choices: [nearest-exact, b.c, D], default: b.c, baked: true}
formula: >-
  if last then row * index + arg * args else
  (if mode == "D" then unit * first * 2 + 0.5 else
  (if value then block + rows * size else rank * coef_0 + two * col + 3))
limits:
  f32: {ulp: 4}
EOF
says "awkward names of tensors and attributes" 0 "kernels" -- "$kiln" \
    candidates --spec "$base" --spec over --ops linux --keys n=64 --out awkward
check "compile" compiles awkward
check "an attribute named as a part of the launch is the attribute" sh -c \
    "test \$(grep -c 'FLOAT, 0, {\"\(block\|rows\)\"' \
        awkward/table/cpu/linux.c) -ge 2 &&
     grep -A1 'slots.*_expr_code' awkward/table/cpu/linux.c | grep X_ATTR &&
     ! grep -A1 'slots.*_expr_code' awkward/table/cpu/linux.c | grep X_LET"
rm -r over

twin()
{
    map_spec over one
    cp over/op/one.yaml over/op/two.yaml
}
twin
wrong "two files with one op" "over/op/two.yaml:1:5:" \
    "op one is defined by over/op/one.yaml too"
map_spec over p "x"
sed -i '/^formula/i attrs:\n  m: {type: string, choices: [map_f32, b], default: b, baked: true}' \
    over/op/p.yaml
map_spec over p_map_f32
wrong "two ops with one symbol" "over/op/p_map_f32.yaml:1:1:" \
    "kernel name p_map_f32_map_f32_contiguous_block4096 stands for both" \
    "p/map" "p_map_f32/map"
map_spec over p "x"
sed -i '/^formula/i attrs:\n  m: {type: string, choices: [a, a_b], default: a, baked: true}\n  n: {type: string, choices: [b_c, c], default: c, baked: true}' \
    over/op/p.yaml
wrong "two keys of one op with one symbol" "over/op/p.yaml:1:1:" \
    "p_map_f32_a_b_c_contiguous_block4096 stands for both"

# --- budgets -----------------------------------------------------------------------------------

budget() { mkdir -p over; printf 'budget:\n  %s\n' "$1" >over/budget.yaml; }
budget 'keys_per_group: 1'
wrong "keys a group" "over/budget.yaml:2:19:" \
    "relu/map f16 contiguous has 2 keys; a group may have 1"
budget 'keys_per_group: 2'
says "just as many" 0 -- "$kiln" check --spec "$base" --spec over
rm -r over
certify_all "$base" >/dev/null
"$kiln" gen --spec "$base" --out tree >told
read -r kernels lines bytes <<<"$(sed -n \
    's/.*, \([0-9]*\) kernels, \([0-9]*\) lines, \([0-9]*\) bytes/\1 \2 \3/p' \
    told)"
state tree >before
for bound in "kernels $kernels" "lines $lines" "bytes $bytes"; do
    name=${bound% *}
    n=${bound#* }
    budget "$name: $n"
    says "a budget of as many $name" 0 -- \
        "$kiln" gen --spec "$base" --spec over --out tree
    budget "$name: $((n - 1))"
    says "past the budget of $name" 1 "over/budget.yaml:2:$((${#name} + 5)):" \
        "the tree has $n $name; the budget is $((n - 1))" -- \
        "$kiln" gen --spec "$base" --spec over --out tree
    says "with --check too" 1 "the budget is" -- \
        "$kiln" gen --check --spec "$base" --spec over --out tree
    rm -r over
done
check "the tree is as it was" unchanged before tree

# --- overlays --------------------------------------------------------------------------------------

keys_of() { "$kiln" keys "$@" | grep -v '^#' | cut -f1 | uniq; }
says "an op by YAML alone" 0 "39 keys" -- "$kiln" candidates --tier cpu --spec "$top/spec" \
    --spec "$top/tests/downstream/spec" --ops squared_relu --keys contiguous \
    --out down
check "its kernels compile" compiles down
check "its header names it as spec/" sh -c \
    "grep -q 'edit spec/op/squared_relu.yaml' down/cpu/squared_relu/map_f32.c &&
     ! grep -rqi downstream down"
says "a composite op" 0 "masked_softmax: route chunked" "key add/map" \
    "key softmax/" -- sh -c "'$kiln' explain --spec '$top/spec' --spec \
    '$top/tests/composite/spec' masked_softmax x=f32[2,2,8,8] mask=f32[8,8]
    test \$? -ne 1"

map_spec over relu 'max(x, 1)'
says "a later folder replaces an op" 0 "6 keys" -- \
    "$kiln" candidates --spec "$base" --spec over --ops relu --out c
check "it is the later one" sh -c "grep -q 'edit spec/op/relu.yaml' \
    c/cpu/relu/map_f32.c && test \"\$(ls c/cpu/relu)\" = map_f32.c"
says "the other op is as it was" 0 "softmax/looped" -- \
    "$kiln" keys --spec "$base" --spec over
says "the other way round" 0 "relu/map f16" -- \
    "$kiln" keys --spec over --spec "$base"
"$kiln" gen --spec "$base" --spec over --out replaced >told
check "its old certificates are gone" sh -c \
    "! grep -q '^relu' replaced/STALE.tsv replaced/KEYS.tsv"
check "certificates of the other stand" test \
    "$(grep -c ^softmax replaced/KEYS.tsv)" -eq 168
says "certified anew" 0 "certified" -- certify_all "$base" --spec over
check "into the later folder" test -s over/certified/cpu/relu.keys.tsv
"$kiln" gen --spec "$base" --spec over --out replaced >told
check "all are certified" sh -c "
    test \$(grep -c '^relu/map\|^relu	' replaced/KEYS.tsv) -eq 12 &&
    ! grep -q '^relu' replaced/STALE.tsv || { cat replaced/STALE.tsv; false; }"
says "the base alone is as it was" 0 -- \
    "$kiln" gen --check --spec "$base" --out tree
rm -r over

change tiling/elementwise.yaml 's/4096/1024/'
says "a later folder replaces a tiling" 0 "block=1024" -- \
    sh -c "'$kiln' candidates --spec '$base' --spec over --out c &&
    cat c/CANDIDATES.tsv"
rm -r over
ladders 'elements: [32]'
check "a later folder replaces a ladder" diff \
    <(keys_of --spec "$base" --spec over --ops relu | grep ' f16 cont') \
    <(echo "relu/map f16 contiguous n=32")
check "the other ladders stay" diff \
    <(keys_of --spec "$base" --spec over --ops softmax) \
    <(keys_of --spec "$base" --ops softmax)
ladders 'more: [1]'
check "a later folder adds a ladder" diff \
    <(keys_of --spec "$base" --spec over) <(keys_of --spec "$base")
rm -r over
change arch/cpu.yaml 's/row_tile: 64/row_tile: 128/'
wrong "a later folder replaces a profile" "looped is unreachable" ""
mkdir over over/op
says "an empty overlay" 0 -- "$kiln" gen --check --spec "$base" --spec over \
    --out tree
touch over/op/.relu.yaml.swp over/op/relu.yaml~
says "an editor's files are passed over" 0 -- \
    "$kiln" gen --check --spec "$base" --spec over --out tree
