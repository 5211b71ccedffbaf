#!/bin/sh
# What a cubin's kernels take, a line each, tabs between:
#   kernel registers shared_bytes spill_bytes code_bytes
# shared_bytes: static; launches add what their recipes say.
#   sh runtime/cuda/resources.sh build/cuda/sm90_softmax_cluster
# reads NAME.log, which ptxas -v wrote, and NAME.cubin.
set -eu
readelf -SW "$1.cubin" 2>/dev/null |
    sed -n 's/^.* \.text\.\([A-Za-z0-9_]*\)  *PROGBITS  *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/code \1 \2/p' |
    cat - "$1.log" | awk '
    function hex(text,   i, n) {
        n = 0
        for (i = 1; i <= length(text); i++)
            n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
        return n
    }
    $1 == "code" { code[$2] = hex($3); next }
    /Compiling entry function/ { split($0, part, "\047"); name = part[2] }
    /bytes spill stores/ { spill = $5 + $9 }
    /Used [0-9]+ registers/ {
        shared = 0
        for (i = 2; i <= NF; i++) if ($i ~ /^smem/) shared = $(i - 2)
        match($0, /Used [0-9]+/)
        printf "%s\t%d\t%d\t%d\t%d\n", name, \
            substr($0, RSTART + 5, RLENGTH - 5), shared, spill, code[name]
    }'
