#!/bin/bash
# The command line's contract: exit status 0 done, 1 wrong input, 2 wrong
# usage, 3 stale or different, 4 input or output; what each command says.
source tests/gen_lib.sh
spec="$work/spec"
small_spec "$spec" relu softmax log_softmax
cp -r spec/census "$spec/census"
sed -i '/silu/d' "$spec/census/transformers.yaml"
sed -i 's/^  batch: .*/  batch: [1]/; s/^  context: .*/  context: [512]/' \
    "$spec/census/transformers.yaml"
bare="$work/bare" # the same without a census
cp -r "$spec" "$bare"
rm -r "$bare/census"
out="$work/out"
cd "$work" || exit 1

# --- usage ---------------------------------------------------------------------

usage() { says "$1" 2 "usage: kiln" "${@:2}"; }
usage "no command" "a command is missing" -- "$kiln"
usage "unknown command" "did you mean gen?" -- "$kiln" gne
usage "unknown command, nothing near" "unknown command zebra" -- "$kiln" zebra
usage "unknown option" "did you mean --out?" -- "$kiln" gen --otu x
usage "option before the command" "the command comes first" -- "$kiln" --out x
usage "option of another command" "check does not take --out" "gen, candidates" \
    -- "$kiln" check --out x
usage "option without its value" "--out wants a DIR" -- "$kiln" gen --out
usage "option with an empty value" "--out wants a DIR" -- "$kiln" gen --out=
usage "option twice" "--out given twice" -- "$kiln" gen --out a --out b
usage "flag with a value" "--check takes no value" -- "$kiln" gen --check=yes
usage "list with an empty name" "an empty name" -- "$kiln" gen --ops relu,,add
usage "gen takes no arguments" "takes no arguments: x" -- "$kiln" gen x
usage "check takes no arguments" -- "$kiln" check x
usage "keys takes no arguments" -- "$kiln" keys x
usage "candidates takes no arguments" -- "$kiln" candidates x
usage "explain wants a key" "at least one KEY" -- "$kiln" explain
usage "census wants a file" "at least one FILE" -- "$kiln" census
usage "certify wants a file" "at least one FILE" -- "$kiln" certify
says "--only of another word" 2 "stale, new or all" -- \
    "$kiln" candidates --spec "$bare" --only old --out "$work/c"
check "wrong usage writes nothing" sh -c "! ls '$work' | grep -E '^(a|b|x|c)\$'"
for command in '' gen check keys explain census candidates certify; do
    # shellcheck disable=SC2086
    says "help of ${command:-kiln}" 0 SYNOPSIS "EXIT STATUS" EXAMPLES -- \
        "$kiln" $command --help
done
says "the version" 0 "kiln $(sed -n 's/^#define KILN_VERSION "\(.*\)"/\1/p' \
    "$top/runtime/kiln.h")" -- "$kiln" --version

# --- wrong input ------------------------------------------------------------------

for command in gen check keys candidates 'explain relu/map' 'census x.json' \
    'certify x.jsonl'; do
    # shellcheck disable=SC2086
    says "$command without specs" 1 "nowhere: no such spec folder" -- \
        "$kiln" $command --spec nowhere
done
mkdir empty
says "specs without a profile" 1 "no profile is of any tier" -- \
    "$kiln" gen --spec empty --out "$out"
says "unknown op" 1 "no op rulu, did you mean relu?" log_softmax -- \
    "$kiln" gen --spec "$bare" --ops rulu --out "$out"
says "unknown tier" 1 "no profile of tier cpuu, did you mean cpu?" -- \
    "$kiln" gen --spec "$bare" --tier cpuu --out "$out"
says "a tier without a profile" 1 "no profile of tier sm90; there are: cpu" -- \
    "$kiln" gen --spec "$bare" --tier sm90 --out "$out"
says "nothing selected" 1 "no key is selected" -- "$kiln" candidates \
    --spec "$bare" --keys 'no such text' --out "$out"
check "wrong input writes nothing" test ! -e "$out"

# --- gen and gen --check -------------------------------------------------------------

says "check" 0 "3 ops" "no errors" -- "$kiln" check --spec "$bare"
says "gen --check without a tree" 3 "MANIFEST" "to mend: $kiln gen --spec" -- \
    "$kiln" gen --check --spec "$bare" --out "$out" --depfile no.d
check "gen --check makes no tree" test ! -e "$out" -a ! -e no.d
check "certify" certify_all "$bare"
says "gen" 0 "kiln gen: $out: 216 certified keys (0 stale)" -- \
    "$kiln" gen --spec "$bare" --out "$out"
mkdir "$out/ours" && echo mine >"$out/ours/file" && echo too >"$out/cpu/mine.c"
ln -s nowhere "$out/link"
touch -d '2001-02-03' "$out/KEYS.tsv" "$out/cpu/mine.c" "$out/ours"
state "$out" >before
says "gen again" 0 -- "$kiln" gen --spec "$bare" --out "$out"
check "gen again changes no time" unchanged before "$out"
says "gen --check of a fresh tree says nothing" 0 -- \
    "$kiln" gen --check --spec "$bare" --out "$out"
check "nothing indeed" test ! -s "$work/said"
"$kiln" gen --check --spec "$bare" --out "$out" >said2 2>&1
check "to neither stream" test ! -s said2
check "gen --check changes nothing" unchanged before "$out"

echo '/* edited */' >>"$out/cpu/relu/map_f16.c"
rm "$out/table/op/softmax.c"
state "$out" >before
says "gen --check of an edited tree" 3 "cpu/relu/map_f16.c" \
    "table/op/softmax.c" "to mend: $kiln gen --spec" -- \
    "$kiln" gen --check --spec "$bare" --out "$out"
mend=$(sed -n 's/^to mend: //p' said)
check "only what differs is listed" test "$(grep -c '\.c$' said)" -eq 2
check "gen --check of an edited tree changes nothing" unchanged before "$out"
check "the command that mends" sh -c "$mend"
says "mended" 0 -- "$kiln" gen --check --spec "$bare" --out "$out"
check "foreign files stay" sh -c "test \"\$(cat '$out/ours/file')\" = mine &&
    test -e '$out/cpu/mine.c' && test -L '$out/link'"
check "a file that did not change kept its time" test \
    "$(stat -c %Y "$out/KEYS.tsv")" -eq "$(date -d 2001-02-03 +%s)"

says "--ops narrows" 0 "48 certified keys (0 stale)" -- \
    "$kiln" gen --spec "$bare" --ops relu --out "$out"
check "files of ours that are no longer emitted go" test ! -e "$out/cpu/softmax" \
    -a ! -e "$out/table/op/softmax.c" -a ! -e "$out/cpu/units/softmax_base.c"
check "foreign files stay then too" test -e "$out/cpu/mine.c" -a \
    -e "$out/ours/file"
check "other ops are in no list" sh -c \
    "! grep -rE 'softmax' '$out' --include='*.tsv' --include=MANIFEST"
says "--ops takes what steps call along" 0 "168 certified keys" -- \
    "$kiln" gen --spec "$bare" --ops log_softmax --out "$work/narrow"
check "and the callee's kernels" test -e narrow/cpu/units/softmax_avx2.c -a \
    ! -e narrow/cpu/relu
check "a foreign file in place of ours is named" sh -c \
    "mkdir '$work/clash' && mkdir '$work/clash/MANIFEST' &&
     ! '$kiln' gen --spec '$bare' --out '$work/clash' 2>'$work/e' &&
     grep MANIFEST '$work/e'"

# --- depfile -------------------------------------------------------------------------

spaced="$work/a spec \$x #1"
cp -r "$bare" "$spaced"
says "gen --depfile" 0 -- "$kiln" gen --spec "$spaced" --out "$work/t" \
    --depfile "$work/t.d"
cat >make.mk <<EOF
include t.d
%/MANIFEST:
	@echo remade >>made
	@touch '\$@'
EOF
remakes() { rm -f made; make -s -f make.mk "$work/t/MANIFEST" && [ -e made ]; }
not() { ! "$@"; }
check "make takes the tree for fresh" not remakes
for file in op/relu.yaml tiling/softmax.yaml buckets.yaml arch/cpu.yaml \
    certified/cpu/relu.keys.tsv; do
    touch -d '+1 minute' "$spaced/$file"
    check "make remakes it for $file" remakes
    touch -d '-1 minute' "$spaced/$file"
    touch "$work/t/MANIFEST"
done
touch -d '-1 hour' "$work/t/MANIFEST"
map_spec "$spaced" added
check "make remakes it for an added spec" remakes
rm "$spaced/op/added.yaml" "$spaced/op/log_softmax.yaml"
touch -d '-1 hour' "$work/t/MANIFEST"
check "make remakes it for a spec that went" remakes

# --- keys, explain ---------------------------------------------------------------------

says "keys" 0 "# key	tier	isa	state	config" \
    "relu/map f16 contiguous n=64	cpu	avx2	certified	block=" -- \
    "$kiln" keys --spec "$bare" --ops relu
check "a line a key and ISA" test "$(wc -l <said)" -eq 49
says "keys of the uncertified" 0 "cpu	base	uncertified	-" -- \
    "$kiln" keys --spec "$spec" --ops relu

explain() { "$kiln" explain --spec "$bare" "$@"; }
key='softmax/looped f16 log=0 contiguous M=64 N=128'
says "explain a key" 0 "serves M=1..64 N=65..128 (spec/op/softmax.yaml)" \
    "base: certified" "avx2: certified" "out/cpu/softmax/looped_f16.c" \
    "1.5 us on a chip" "0.25 of its limit" -- explain "$key"
# shellcheck disable=SC2086
says "explain a key in words" 0 "avx2: certified" -- explain ${key}
says "explain a key without a certificate" 3 "base: uncertified" \
    "make certify TIER=cpu OPS=softmax" -- "$kiln" explain --spec "$spec" "$key"
says "explain a key past the ladder" 3 "is not declared; nearest:" \
    "  softmax/looped f16 log=0 contiguous M=64 N=128" spec/op/softmax.yaml \
    "make certify TIER=cpu OPS=softmax" -- explain "${key/N=128/N=4096}"
check "the nearest key comes first" test \
    "$(sed -n 2p said)" = "  softmax/looped f16 log=0 contiguous M=64 N=128"
says "explain a key of no op" 1 "sofmax, did you mean softmax?" -- \
    explain "${key/soft/sof}"
says "explain a key of no variant" 1 "loped, did you mean looped?" -- \
    explain "${key/looped/loped}"
says "explain a key without a size" 1 "expected N=SIZE at its end" -- \
    explain "${key% *}"
says "explain a key of nothing" 1 "no op with keys" -- explain /
says "explain a call" 0 "call softmax x=f16[4,128] y=f16[4,128]" \
    "softmax: route looped" "flops" "key softmax/looped f16 log=0" \
    "avx2: certified" -- explain 'softmax x=f16[4, 64 * 2]'
says "explain a call by steps" 0 "log_softmax: route softmax" \
    "key softmax/single_tile f32 log=1 contiguous M=64 N=64" -- \
    explain log_softmax 'x=f32[3,5]'
says "explain a strided call" 0 "key relu/map f32 general n=64" -- \
    explain 'relu x=f32[3,5]:[10,2]'
says "explain a call past the ladder" 3 "N=>129" "is not declared" -- \
    explain 'softmax x=f16[4,129]'
says "explain an empty call" 0 "0 flops" -- explain 'softmax x=f16[0,7]'
wrong()
{
    local call=$1
    shift
    says "explain $call" 1 "$@" -- \
        "$kiln_san" explain --spec "$bare" --ops relu,softmax "$call"
}
wrong 'sofmax x=f16[1]' "did you mean softmax?"
wrong 'softmax' "tensor x is required"
wrong 'softmax x=none' "tensor x is required"
wrong 'softmax x=f17[4]' "f16[4096, 128]"
wrong 'softmax x=f16[4' "unexpected"
wrong 'softmax x=f16' "give its sizes"
wrong 'softmax x=f16[4,]' "empty size"
wrong 'softmax x=f16[4,,4]' "empty size"
wrong 'softmax x=f16[4 4]' "expected the end"
wrong 'softmax x=f16[4/3]' "is not an integer"
wrong 'softmax x=f16[1/0]' "division by zero"
wrong 'softmax x=f16[n]' "unknown name n"
wrong 'softmax x=f16[-1]' "negative size"
wrong 'softmax x=f16[9223372036854775807,3]' "overflows"
wrong 'softmax x=f16[9223372036854775807 + 1]' "outside int64"
wrong 'softmax x=f16[9999999999999999999]' "int64"
wrong 'softmax x=f16[1,1,1,1,1,1,1,1,1]' "at most 8 dims"
wrong 'softmax x=f16[4]:[1,2]' "2 strides for rank 1"
wrong 'softmax x=f16[4]+9999999999999999999' "outside int64"
wrong 'softmax x=f16[4] x=f16[4]' "given twice"
wrong 'softmax x=f16[4] dimm=0' "did you mean dim?"
wrong 'softmax x=f16[4] dim=zero' "whole number"
wrong 'softmax x=f16[4] dim=1' "dim 1"
wrong 'softmax x=f16[4] log=yes' "true or false"
wrong 'softmax x=i32[4]' "i32"
wrong 'softmax x=f16[4] y=f64[4]' "f64"
wrong 'softmax x=f16[4] y=f16[5]' "shape"
wrong 'softmax x=f16[4] 5' "expected NAME=VALUE"
wrong 'relu x=f16[4] alpha=1' "no tensor or attribute alpha"

# --- census ----------------------------------------------------------------------------

cd "$spec/census" || exit 1
says "census of three models" 3 "# model	note	call	keys	limits	state" \
    "Llama-3-8B	attention scores of a prefill	softmax x=f32[16384,512]" \
    "Qwen2.5-7B	probabilities of the next token	softmax x=bf16[1,152064]" \
    "Mistral-7B	attention scores of a decode step	softmax x=f32[32,512]" \
    uncertified -- \
    "$kiln" census --spec .. llama-3-8b.json qwen2.5-7b.json mistral-7b.json
check "a line a call and model" test "$(wc -l <"$work/said")" -eq 10
certify_all "$spec" >/dev/null
says "census of a certified model" 0 certified -- \
    "$kiln" census --spec .. llama-3-8b.json
census()
{
    printf '%s' "$2" >"$work/config.json"
    says "census of $1" 1 "${@:3}" -- \
        "$kiln_san" census --spec "$spec" --ops softmax "$work/config.json"
}
census "no JSON" 'num_attention_heads: 3' "config.json:1:1: a value expected"
census "nothing" '' "config.json:1:1:" "the text ends"
census "an array" '[1, 2]' "config.json:1:1: expected an object"
census "null" null "config.json:1:1: expected an object"
census "false" false "config.json:1:1: expected an object"
census "a number" 7 "config.json:1:1: expected an object"
census "an open object" '{"vocab_size": 3' "config.json:1:17:"
census "two values" '{} {}' "config.json:1:4: nothing may follow"
census "a missing field" '{"vocab_size": 8}' "config.json" \
    "unknown name num_attention_heads" transformers.yaml:
census "a text for a number" \
    '{"vocab_size": 8, "num_attention_heads": "8"}' \
    "config.json: num_attention_heads is not a whole number"
census "a fraction" '{"vocab_size": 8, "num_attention_heads": 1.5}' \
    "num_attention_heads is not a whole number"
census "a number past 64 bits" \
    '{"vocab_size": 8, "num_attention_heads": 18446744073709551617}' \
    "num_attention_heads is not a whole number"
census "a product past 64 bits" \
    '{"vocab_size": 8, "num_attention_heads": 9223372036854775807}' \
    "outside int64" "config.json"
census "an element count past 64 bits" \
    '{"vocab_size": 9223372036854775807, "num_attention_heads": -1}' \
    "negative size"
census "a duplicate key" '{"vocab_size": 8,
 "num_attention_heads": 8, "vocab_size": 9}' \
    "config.json:2:28: duplicate key vocab_size"
census "deep nesting" "$(printf '[%.0s' $(seq 10000))" "nested deeper than 64"
census "bad UTF-8" "$(printf '{"a\xff": 1}')" "not UTF-8"
census "a lone surrogate" '{"\ud800": 1}' "lone surrogate"
printf '%s' '{"num_attention_heads": 1, "vocab_size": 3, "then": 2, "": 1}' \
    >"$work/config.json"
says "census of sizes that no key has" 3 "$work/config.json" undeclared -- \
    "$kiln_san" census --spec "$spec" --ops softmax "$work/config.json"
says "census of no file" 1 "nowhere.json" "No such file" -- \
    "$kiln" census --spec "$spec" nowhere.json
says "census of a folder" 1 "is a folder" -- "$kiln" census --spec "$spec" ..
says "census where specs have none" 0 "# model" -- \
    "$kiln" census --spec "$bare" "$work/config.json"

# --- output --------------------------------------------------------------------------

full() { "$kiln" "$@" >/dev/full; }
for command in keys check "explain $key" "census $spec/census/llama-3-8b.json" \
    "gen --out $work/o"; do
    # shellcheck disable=SC2086
    says "${command%% *} to a full standard output" 4 "standard output" -- \
        full $command --spec "$spec"
done
says "to a closed standard output" 4 -- sh -c "'$kiln' keys --spec '$bare' >&-"
echo text >"$work/a-file"
says "candidates into a file" 4 "$work/a-file" -- \
    "$kiln" candidates --spec "$bare" --ops relu --out "$work/a-file"
rm -r "$spec/certified/cpu"
echo text >"$spec/certified/cpu"
says "certify into a file" 4 "$spec/certified/cpu" -- \
    "$kiln" certify --spec "$spec" "$work/all.jsonl"
check "the files are as they were" test \
    "$(cat "$spec/certified/cpu" "$work/a-file")" = "text
text"
