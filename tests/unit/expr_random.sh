#!/bin/sh
# Random expressions, compiled by lua/expr_compile.lua and run by
# runtime/core/expr.c, against the big-integer evaluator of expr_ref.py.
# usage: tests/unit/expr_random.sh [FOLDER [COUNT [SEED]]], from the top folder.
# FOLDER (default: one of its own under build/) gets what is built and the
# cases. Last line: N passed, N failed.
set -eu

folder=${1:-${BUILD:-build}/expr_random}
count=${2:-100000}
seed=${3:-1}
core=runtime/core

mkdir -p "$folder"
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -O2 ${CFLAGS:-} -Iruntime -o "$folder/expr_driver" \
    tests/unit/expr_driver.c $core/expr.c $core/expr_number.c \
    $core/expr_call.c $core/key.c $core/space.c $core/view.c $core/arith.c \
    $core/dtype.c
echo "expr_random: $count cases, seed $seed"
PYTHONDONTWRITEBYTECODE=1 python3 tests/unit/expr_gen.py "$count" "$seed" \
    > "$folder/cases.txt"
lua5.4 tests/unit/expr_random.lua < "$folder/cases.txt" \
    > "$folder/compiled.txt"
"$folder/expr_driver" < "$folder/compiled.txt"
