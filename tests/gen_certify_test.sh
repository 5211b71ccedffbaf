#!/bin/bash
# From evidence to certificates: what `kiln certify` refuses, with file and
# line and nothing written, what it chooses, and how certificates die.
source tests/gen_lib.sh

# --- what kernels are judged at ----------------------------------------------------

small_spec "$work/sum" add
"$kiln" candidates --spec "$work/sum" --out "$work/tried" >"$work/said"
tried()
{
    grep '^kernel' "$work/tried/CANDIDATES.tsv" | cut -f10 | sed 's/; /\n/g' |
        sed 's/.* y=[^ ]*//' | LC_ALL=C sort -u
}
check "dynamic attributes: their defaults and other values" \
    diff <(tried) <(printf '%s\n' '' ' alpha='{-0.7,-1.0,0.0,1e-40,2.0,3e+38})

# --- the specs of what follows -------------------------------------------------------

spec="$work/spec"
small_spec "$spec" relu softmax
certified="$spec/certified/cpu"
mkdir -p "$spec/certified"
"$kiln" candidates --spec "$spec" --out "$work/c" >"$work/said"
evidence "$work/c" >"$work/all.jsonl"
cd "$work" || exit 1
certify() { "$kiln" certify --spec "$spec" "$@"; }

# --- wrong evidence: nothing is written ---------------------------------------------

state "$spec" >before
kernel=$(grep -n '"kind":"kernel".*relu' all.jsonl | head -n 1 | cut -d: -f1)
key=$(grep -n '"kind":"key".*relu' all.jsonl | head -n 1 | cut -d: -f1)

# wrong NAME LINE SED TEXT...: all evidence but for LINE, edited.
wrong()
{
    local name=$1 line=$2 edit=$3
    shift 3
    sed "$line$edit" all.jsonl >wrong.jsonl
    says "$name" 1 "wrong.jsonl:$line:" "$@" -- certify wrong.jsonl
    check "$name: nothing written" unchanged before "$spec"
}
wrong "no JSON" "$kernel" 's/^/;/' "a value expected"
wrong "an empty line" "$kernel" 's/.*//' "a value expected"
wrong "an array" "$kernel" 's/.*/[1]/' 'neither "kernel" nor "key"'
wrong "null" "$kernel" 's/.*/null/' 'neither "kernel" nor "key"'
wrong "unknown kind" "$kernel" 's/"kind":"kernel"/"kind":"kernal"/' \
    'neither "kernel" nor "key"'
wrong "unknown field" "$kernel" 's/{/{"extra":1,/' "unknown field extra"
wrong "duplicate field" "$kernel" 's/{/{"tier":"cpu",/' "duplicate key tier"
wrong "missing field" "$kernel" 's/"hash":"[^"]*",//' "field hash"
wrong "field of another type" "$kernel" 's/"cases":7/"cases":"7"/' "field cases"
wrong "a count with a fraction" "$kernel" 's/"cases":7/"cases":7.5/' \
    "field cases: expected integer"
wrong "foreign tier" "$kernel" 's/"tier":"cpu"/"tier":"sm90"/' "tier sm90"
wrong "foreign ISA" "$kernel" 's/"isa":"[a-z0-9]*"/"isa":"neon"/' "isa neon"
wrong "edited hash" "$kernel" 's/"hash":"./"hash":"x/' "has changed since"
wrong "unknown kernel" "$kernel" 's/"kernel":"relu/"kernel":"rule/' \
    "unknown kernel rule"
wrong "a kernel of another op" "$kernel" 's/"op":"relu"/"op":"softmax"/' \
    "is op relu"
wrong "a kernel of a folder" "$kernel" 's/"op":"relu"/"op":"..\/..\/x"/' \
    "is op relu"
wrong "a kernel of another config" "$kernel" 's/"config":"[^"]*"/"config":"z=1"/' \
    "is op relu with block="
wrong "a status of its own" "$kernel" 's/"pass"/"passed"/' "neither pass nor fail"
wrong "an error past its limit" "$kernel" 's/"error":0.25/"error":1.01/' \
    "not within its limit"
wrong "a negative error" "$kernel" 's/"error":0.25/"error":-1/' \
    "not within its limit"
wrong "a number that no double holds" "$kernel" 's/"error":0.25/"error":1e999/' \
    "1e999"
wrong "a tab in a name" "$kernel" 's/"a chip"/"a\\tchip"/' "no tab, line end"
wrong "a return in a name" "$kernel" 's/"a chip"/"a\\rchip"/' "no tab, line end"
wrong "undeclared key" "$key" 's/ n=128"/ n=127"/' "not declared"
wrong "moved ranges" "$key" 's/"ranges":"n=/"ranges":"n=1/' "have moved"
wrong "a config that is no candidate" "$key" 's/"config":"[^"]*"/"config":"b=1"/' \
    "config b=1 is no candidate"
wrong "a key of another op" "$key" 's/"op":"relu"/"op":"gelu"/' "is op relu"
wrong "a time of 0" "$key" 's/"us":1.5/"us":0/' "us is not a time"

sed -n "p;${kernel}p" all.jsonl >wrong.jsonl
says "a kernel twice" 1 "wrong.jsonl:$((kernel + 1)):1: a second line" -- \
    certify wrong.jsonl
sed -n "p;${key}p" all.jsonl >wrong.jsonl
says "a config of a key twice" 1 "wrong.jsonl:$((key + 1)):1: a second line" -- \
    certify wrong.jsonl
says "a file twice" 1 "all.jsonl:1:1: a second line" "and " more -- \
    certify all.jsonl all.jsonl
head -c -20 all.jsonl >wrong.jsonl
says "a torn last line" 1 "wrong.jsonl" "cut short" -- certify wrong.jsonl
tr -d '\n' <all.jsonl >wrong.jsonl
says "no line end at all" 1 "cut short" -- certify wrong.jsonl
printf '{"kind":"\xff"}\n' >wrong.jsonl
says "bad UTF-8" 1 "wrong.jsonl:1:10: not UTF-8" -- certify wrong.jsonl
printf '{"a\0b":1}\n' >wrong.jsonl
says "a NUL" 1 "wrong.jsonl:1:4:" -- certify wrong.jsonl
says "no file" 1 "nowhere.jsonl" "No such file" -- certify nowhere.jsonl
says "a folder" 1 "is a folder" -- certify .
check "nothing was written" unchanged before "$spec"

# --- certificates ----------------------------------------------------------------------

says "certify" 0 "keys certified; 0 kernels failed" -- certify all.jsonl
check "two tables an op" test "$(ls "$certified")" = "relu.kernels.tsv
relu.keys.tsv
softmax.kernels.tsv
softmax.keys.tsv"
check "sorted by bytes" sh -c "for f in '$certified'/*; do
    tail -n +2 \"\$f\" | LC_ALL=C sort -c || exit 1; done"
state "$spec" >before
says "certify again" 0 -- certify all.jsonl
check "certify again changes no time" unchanged before "$spec"
tac all.jsonl >reversed.jsonl
says "certify in another order" 0 -- certify reversed.jsonl
check "the order does not matter" unchanged before "$spec"
: >nothing.jsonl
says "no evidence" 1 "nothing.jsonl: is empty" -- certify nothing.jsonl
echo note >"$certified/README"
grep '"op":"relu"' all.jsonl >some.jsonl
says "--ops narrows" 0 -- certify --ops relu some.jsonl
check "certificates of other ops stay" test -s "$certified/softmax.keys.tsv"
says "--ops passes over evidence of other ops" 0 -- \
    certify --ops relu all.jsonl
check "foreign files stay" test "$(cat "$certified/README")" = note
rm "$certified/README"
state "$spec" | grep -v '/cpu d ' >after
check "nothing else changed" diff <(grep -v '/cpu d ' before) after

# --- choice --------------------------------------------------------------------------------

row='base	softmax/single_tile f32 log=0 contiguous M=64 N=64'
chosen() { grep -F "$row" "$certified/softmax.keys.tsv" | cut -f"$1"; }
first=$(chosen 4)
second=$(chosen 6)
check "the fastest is chosen" test "$(chosen 5)" = 1.5
check "the runner-up stands beside it" test "$(chosen 7)" = 2.5
# retime FIRST SECOND: evidence for the row's two configs.
retime()
{
    grep -F '"isa":"base"' all.jsonl | grep -F "\"key\":\"${row#*	}\"" |
        sed "/\"$first\"/s/\"us\":1.5/\"us\":$1/
             /\"$second\"/s/\"us\":2.5/\"us\":$2/" >some.jsonl
    "$kiln" certify --spec "$spec" some.jsonl
}
check "within noise" retime 100 99
check "the standing config stays" test "$(chosen 4)" = "$first"
check "past the noise" retime 100 90
check "the faster one is chosen" test "$(chosen 4)" = "$second"
check "within noise again" retime 99 100
check "the standing config stays again" test "$(chosen 4)" = "$second"
check "of equals" sh -c "sed -i '/single_tile f32 log=0 contiguous M=64 N=64/d' \
    '$certified/softmax.keys.tsv'"
check "both the same" retime 7 7
check "the first by bytes is chosen" test "$(chosen 4)" = \
    "$(printf '%s\n' "$first" "$second" | LC_ALL=C sort | head -n 1)"
check "and before" certify all.jsonl

fail=$(grep -F '"kind":"kernel"' all.jsonl | grep -F '"isa":"base"' |
    grep -F "softmax_single_tile_f32_log0_contiguous_" | head -n 1 |
    sed 's/"status":"pass"/"status":"fail"/; s/"error":0.25/"error":3.5/')
name=$(sed 's/.*"kernel":"\([^"]*\)".*/\1/' <<<"$fail")
{ grep -vF "\"kernel\":\"$name\"" all.jsonl; echo "$fail"; } >failed.jsonl
says "a kernel that failed" 3 "1 kernels failed" -- certify failed.jsonl
check "its certificate went" sh -c \
    "! grep -q 'base	$name	' '$certified/softmax.kernels.tsv'"
check "its key takes the other config" test "$(chosen 4)" != "$first"
grep -F '"kind":"kernel"' all.jsonl | grep -F '"isa":"base"' |
    grep -F softmax_single_tile_f32_log0_contiguous_ |
    sed 's/"status":"pass"/"status":"fail"/' >failed.jsonl
grep -F "\"key\":\"${row#*	}\"" all.jsonl | grep -F '"isa":"base"' >>failed.jsonl
says "all configs failed" 3 "1 keys without a survivor" -- certify failed.jsonl
check "its certificate is gone" test -z "$(chosen 4)"
says "it is refused" 3 "base: uncertified" "avx2: certified" -- \
    "$kiln" explain --spec "$spec" "${row#*	}"
check "all stand again" certify all.jsonl

# --- how certificates die ----------------------------------------------------------------

stale()
{
    "$kiln" gen --spec "$spec" --out "$work/out" >/dev/null &&
        grep -v '^#' "$work/out/STALE.tsv" | cut -f4 | sort | uniq -c |
        sed 's/^ *//' >causes && diff causes <(printf '%s\n' "$@")
}
stale_none()
{
    "$kiln" gen --spec "$spec" --out "$work/out" &&
        [ "$(wc -l <"$work/out/STALE.tsv")" -eq 1 ]
}
check "none is stale" stale_none
cp "$spec/op/relu.yaml" relu.yaml
sed -i 's/ulp: [0-9]*/ulp: 7/' "$spec/op/relu.yaml"
check "a limit changed: its kernels are stale" stale "48 its kernel changed"
says "keys say so" 0 "stale" -- "$kiln" keys --spec "$spec" --ops relu
says "explain says so" 3 "stale: its kernel changed" "make certify" -- \
    "$kiln" explain --spec "$spec" 'relu/map f16 contiguous n=64'
check "no stale key is served" sh -c "! grep -q '^relu' '$work/out/KEYS.tsv'"
says "only what is stale is measured" 0 "24 keys" -- \
    "$kiln" candidates --spec "$spec" --only stale --out "$work/again"
says "nothing is new" 1 "no key is selected" -- \
    "$kiln" candidates --spec "$spec" --only new --out "$work/again2"
cp relu.yaml "$spec/op/relu.yaml"
sed -i '1i # a comment' "$spec/op/relu.yaml"
sed -i 's/^doc: .*/doc: other words/' "$spec/op/relu.yaml"
check "a comment and other words change nothing" stale_none
sed -i 's/^formula: .*/formula: max(x, 0.5)/' "$spec/op/relu.yaml"
check "the formula changed" stale "48 its kernel changed"
cp relu.yaml "$spec/op/relu.yaml"
sed -i 's/elements: .*/elements: [32, 64, 128]/' "$spec/buckets.yaml"
check "a bucket was cut in two" stale "24 the bucket moved"
says "the new one is new" 0 "12 keys" -- \
    "$kiln" candidates --spec "$spec" --only new --out "$work/again2"
sed -i 's/elements: .*/elements: [64]/' "$spec/buckets.yaml"
check "a bucket went" stale "24 no longer declared"
sed -i 's/elements: .*/elements: [64, 128]/' "$spec/buckets.yaml"
rm "$spec/op/relu.yaml"
check "an op went" stale "48 no longer declared"
cp -r "$spec" "$work/less"
grep '"op":"softmax"' all.jsonl >softmax.jsonl
says "certify drops what is no longer declared" 0 "168 keys certified" -- \
    "$kiln" certify --spec "$work/less" softmax.jsonl
check "its files went" test ! -e "$work/less/certified/cpu/relu.keys.tsv"
cp relu.yaml "$spec/op/relu.yaml"
sed -i 's/lanes: \[32, 64\]/lanes: [16, 64]/' "$spec/tiling/softmax.yaml"
check "a config went" stale "168 its config is no longer a candidate"
sed -i 's/lanes: \[16, 64\]/lanes: [32, 64]/' "$spec/tiling/softmax.yaml"
check "none is stale again" stale_none

# --- damaged certificates --------------------------------------------------------------------

damaged()
{
    local name=$1 file=$2 edit=$3
    shift 3
    cp -r "$spec" "$work/damaged"
    sed -i "$edit" "$work/damaged/certified/cpu/$file"
    says "certificates: $name" 1 "damaged/certified/cpu/$file" "$@" -- \
        "$kiln" gen --spec "$work/damaged" --out "$work/never"
    rm -r "$work/damaged"
}
damaged "other columns" relu.keys.tsv '1s/us/ms/' ":1:1: expected the columns"
damaged "a field too few" relu.keys.tsv '3s/	[^	]*$//' ":3:1: 8 fields, expected 9"
damaged "a row twice" relu.keys.tsv '3p' ":4:1:" "stands twice"
damaged "no time" relu.keys.tsv '2s/1\.5/fast/' ":2:1: us is not a number"
damaged "no hash" relu.kernels.tsv '2s/	[0-9a-f]\{64\}	/	-	/' ":2:1: hash"
damaged "a merge's marks" relu.keys.tsv '2i <<<<<<< ours' ":2:1: 1 fields"
head -c -9 "$certified/relu.keys.tsv" >"$work/torn"
cp -r "$spec" "$work/damaged"
cp "$work/torn" "$work/damaged/certified/cpu/relu.keys.tsv"
says "certificates: a torn last line" 1 "cut short" -- \
    "$kiln" gen --spec "$work/damaged" --out "$work/never"
check "no tree came of them" test ! -e "$work/never"
