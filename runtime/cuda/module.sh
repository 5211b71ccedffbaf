#!/bin/sh
# Writes the C text of a module: a cubin as data, with its name and SHA-256.
#   sh runtime/cuda/module.sh sm90_softmax build/cuda/sm90_softmax.cubin
set -eu
name=$1
cubin=$2
sum=$(sha256sum "$cubin" | cut -d ' ' -f 1)
cat <<EOF
/* The compiled kernels of $name. */
#include "core/tables.h"

__asm__(".section .rodata\n"
        ".balign 64\n"
        ".hidden kiln_image_$name\n"
        ".globl kiln_image_$name\n"
        "kiln_image_$name:\n"
        ".incbin \"$cubin\"\n"
        ".hidden kiln_image_${name}_end\n"
        ".globl kiln_image_${name}_end\n"
        "kiln_image_${name}_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const unsigned char kiln_image_$name[];
extern const unsigned char kiln_image_${name}_end[];
extern const kiln_module kiln_module_$name;

const kiln_module kiln_module_$name = {
    "${name%%_*}/${name#*_}", kiln_image_$name, kiln_image_${name}_end,
    "$sum"};
EOF
