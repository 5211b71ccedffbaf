#!/bin/bash
# cache-invalidation and foreign-tuning-entry: certificates are input, not
# trusted. What a record says is edited, one thing at a time, in a copy of the
# specs; the key is then looked up by the generator and by a library built
# from the new tree.
source tests/gen_lib.sh
cc=${CC:-cc}
good=$work/good
small_spec "$good" relu
sed -i 's/block: \[4096\]/block: [1024, 4096]/' "$good/tiling/elementwise.yaml"
sed -i 's/dtype: \[.*\]/dtype: [f32, f64]/; /^  b\?f16:/d' "$good/op/relu.yaml"
check "certify" certify_all "$good"
key='relu/map f32 contiguous n=64'
kernel=relu_map_f32_contiguous_block1024
records=certified/cpu/relu

# edit FILE SED: a fresh copy of the good specs in $spec, with FILE edited.
spec=$work/spec
edit()
{
    rm -rf "$spec"
    cp -r "$good" "$spec"
    sed -i "$2" "$spec/$1"
    ! cmp -s "$spec/$1" "$good/$1" || echo "not ok sed $2 of $1"
}
explain() { "$kiln" explain --spec "$spec" "$key"; }
listed() # CAUSE: STALE.tsv has the key, KEYS.tsv does not
{
    "$kiln" gen --spec "$spec" --out "$work/out" >/dev/null &&
        grep -F "relu	$key	cpu $isa	$1" "$work/out/STALE.tsv" &&
        ! grep -F "$key	cpu	$isa	" "$work/out/KEYS.tsv"
}
# stale NAME FILE SED CAUSE: the edit makes the key of base stale.
stale()
{
    isa=base
    edit "$2" "$3"
    says "$1: stale, by name" 3 "$key" "base: stale: $4" "avx2: certified" \
        "make certify" -- explain
    check "$1: in STALE.tsv" listed "$4"
}
# served NAME FILE SED TEXT: the edit leaves the key served.
served()
{
    edit "$2" "$3"
    says "$1: served" 0 "base: certified" "$4" -- explain
}
# refused NAME FILE SED LINE TEXT: reading the records fails, with the place.
refused()
{
    edit "$2" "$3"
    says "$1: refused with file and line" 1 "$spec/$2:$4:" "$5" -- explain
    says "$1: no tree" 1 "$spec/$2:$4:" -- \
        "$kiln" gen --spec "$spec" --out "$work/never"
}
line() { grep -nF "$2" "$good/$1" | head -n 1 | cut -d: -f1; }
row_key=$(line $records.keys.tsv "base	$key	")
row_kernel=$(line $records.kernels.tsv "base	$kernel	")

# --- cache-invalidation ----------------------------------------------------------

chosen=$(sed -n "${row_key}p" "$good/$records.keys.tsv" | cut -f4)
check "the key's config is the kernel's" test "$chosen" = block=1024
stale "hash" $records.kernels.tsv "${row_kernel}s/	[0-9a-f]\{8\}/	00000000/" \
    "its kernel changed"
stale "no kernel" $records.kernels.tsv "${row_kernel}d" \
    "its kernel has no certificate"
stale "ranges" $records.keys.tsv "${row_key}s/n=1\.\.64/n=1..63/" \
    "the bucket moved"
stale "config" $records.keys.tsv "${row_key}s/block=1024/block=512/" \
    "its config is no longer a candidate"
stale "kernel's name" $records.kernels.tsv \
    "${row_kernel}s/block1024/block1025/" "its kernel has no certificate"
isa=base
edit $records.keys.tsv "${row_key}s/^base/sse9/"
says "ISA of the key: uncertified" 3 "base: uncertified" "avx2: certified" -- \
    explain
edit $records.kernels.tsv "${row_kernel}s/^base/sse9/"
says "ISA of the kernel: stale" 3 "base: stale: its kernel has no" -- explain
served "device of the key" $records.keys.tsv \
    "${row_key}s/[^	]*\(	measured\)\$/another chip\1/" "1.5 us on another chip"
served "device of the kernel" $records.kernels.tsv \
    "${row_kernel}s/a chip/another chip/" "1.5 us on a chip"
served "compiler, which binds no cpu kernel" $records.kernels.tsv \
    "${row_kernel}s/a compiler/another one/" "1.5 us on a chip"
served "time" $records.keys.tsv "${row_key}s/	1\.5	/	1.25	/" \
    "1.25 us on a chip"

# --- foreign-tuning-entry ----------------------------------------------------------

for config in block=0 block=100000 block=-1 block= block=1024x 'block=1024 ' \
    lanes=32 '-' '' 'block=1024;block=4096' 'block=99999999999999999999'; do
    stale "config \"$config\"" $records.keys.tsv \
        "${row_key}s/	block=1024	/	$config	/" \
        "its config is no longer a candidate"
done
refused "a negative time" $records.keys.tsv "${row_key}s/	1\.5	/	-1.5	/" \
    "$row_key" "us is not a number"
refused "a time that is none" $records.keys.tsv "${row_key}s/	1\.5	/	.nan	/" \
    "$row_key" "us is not a number"
refused "an endless time" $records.keys.tsv "${row_key}s/	1\.5	/	.inf	/" \
    "$row_key" "us .inf is past its limit"
refused "an error past its limit" $records.kernels.tsv \
    "${row_kernel}s/	0\.25	/	1.5	/" "$row_kernel" "error 1.5 is past"
refused "a hash that is none" $records.kernels.tsv \
    "${row_kernel}s/	[0-9a-f]\{8\}/	zzzzzzzz/" "$row_kernel" "hash"
refused "a row of another op" $records.keys.tsv \
    "${row_key}s/relu/gelu/" "$row_key" "gelu"
edit $records.keys.tsv "${row_key}s/^/# /"
says "a row behind a #: its key is uncertified" 3 "base: uncertified" -- explain
mkdir -p "$spec/certified/sm90"
edit $records.keys.tsv "${row_key}s/1\.5/1.25/"
mkdir "$spec/certified/sm90"
printf 'no table\n' >"$spec/certified/sm90/relu.keys.tsv"
says "records of another tier are passed over" 0 "1.25 us" -- explain

# --- the same at run time ------------------------------------------------------------

cat >"$work/main.c" <<'EOF'
#include <stdio.h>
#include <string.h>

#include "kiln.h"

/* status of relu on n elements with that ISA, then text */
static void look(const char *isa, int64_t n)
{
    kiln_options options = {.size = sizeof options, .isa = isa};
    DLTensor x = {.device = {kDLCPU, 0},
                  .ndim = 1,
                  .dtype = {kDLFloat, 32, 1},
                  .shape = &n};
    const DLTensor *tensors[] = {&x, &x};
    char text[4096] = "";
    kiln_context *ctx = NULL;
    kiln_plan *plan = NULL;
    kiln_status status = kiln_context_create(&ctx, x.device, &options);
    if (status == KILN_OK) {
        status = kiln_plan_create(&plan, ctx, "relu", tensors, 2, NULL, 0);
    }
    if (status == KILN_OK) {
        kiln_plan_describe(plan, text, sizeof text);
    }
    printf("%s %d: %s %s\n", isa, (int)n, kiln_status_name(status),
           status == KILN_OK ? text : kiln_last_error());
    kiln_plan_destroy(plan);
    kiln_context_destroy(ctx);
}

int main(void)
{
    look("base", 64);
    look("base", 65);
    look("base", 129);
    return 0;
}
EOF
built()
{
    "$kiln" gen --spec "$spec" --out "$work/out" &&
        make -s BUILD="$work/build" OUT="$work/out" CC="$cc" CFLAGS=-O0 \
            "$work/build/libkiln.a" &&
        "$cc" -std=c11 -Wall -Wextra -Werror -Iruntime "$work/main.c" \
            "$work/build/libkiln.a" -lm -pthread -o "$work/look" &&
        "$work/look" >"$work/seen"
}
edit $records.kernels.tsv "${row_kernel}s/	[0-9a-f]\{8\}/	00000000/"
sed -i "s/	block=1024	\(.*n=65\)/	block=1024	\1/" "$spec/$records.keys.tsv"
check "a library of stale records" built
says "the key is refused, by name" 0 "base 64: KILN_STALE" "$key" \
    "make certify" -- cat "$work/seen"
edit $records.keys.tsv "${row_key}d"
check "a library without the record" built
says "the key is refused as uncertified, by name" 0 \
    "base 64: KILN_UNCERTIFIED" "$key" "base 65: KILN_OK" \
    "base 129: KILN_UNCERTIFIED" -- cat "$work/seen"
hostile='a "chip" \\ ???\/ *\/ \/\/ %s %n \\"'
edit $records.keys.tsv "${row_key}s/[^	]*\(	measured\)\$/$hostile\1/"
check "a library of a device with a hostile name" built
says "it is described by that name" 0 "base 64: KILN_OK" \
    'certified on a "chip" \ ???/ */ // %s %n \", error' -- \
    cat "$work/seen"
