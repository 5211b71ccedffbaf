# gen_lib.sh: what the tests of the generator share; they source it from the
# top of the tree. The generator is $kiln, plain, and $kiln_san with sanitizers
# where that was built; $work is a folder of the test's own.
# shellcheck shell=bash disable=SC2034
set -u
top=$PWD
build=${BUILD:-build}
case $build in /*) ;; *) build=$top/$build ;; esac
kiln=${KILN:-$build/kiln}
case $kiln in /*) ;; *) kiln=$top/$kiln ;; esac
kiln_san=${KILN_SAN:-$build/san/kiln}
case $kiln_san in /*) ;; *) kiln_san=$top/$kiln_san ;; esac
[ -x "$kiln_san" ] || kiln_san=$kiln
if [ ! -x "$kiln" ]; then
    echo "not ok generator # $kiln was not built"
    exit 1
fi
# In memory where possible: each tree that is put in place is synced.
work=$(mktemp -d -p /dev/shm kiln-gen.XXXXXX 2>/dev/null) ||
    work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-gen.XXXXXX") || exit 1
work=$(cd "$work" && pwd -P)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# check NAME COMMAND...: one line of result; what the command says on failure.
check()
{
    local name=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/# /' "$work/said" | head -n 20
    fi
}

# says NAME STATUS TEXT... -- COMMAND...: it exits with STATUS, what it writes
# holds each TEXT, and nothing in it is a defect of ours.
says()
{
    local name=$1 status=$2 got bad='' texts=()
    shift 2
    while [ "$1" != -- ]; do texts+=("$1"); shift; done
    shift
    "$@" >"$work/said" 2>&1
    got=$?
    [ "$got" -eq "$status" ] || bad="exit status $got, not $status"
    for text in "${texts[@]}"; do
        grep -qF -- "$text" "$work/said" || bad="$bad; lacks: $text"
    done
    if grep -qE '^kiln: internal error|Sanitizer|runtime error:' "$work/said"; then
        bad="$bad; a defect"
    fi
    if [ -z "$bad" ]; then
        echo "ok $name"
    else
        echo "not ok $name"
        echo "# $bad"
        sed 's/^/# /' "$work/said" | head -n 12
    fi
}

# small_spec DIR [OP...]: our own specs of a few ops, on short ladders and with
# tilings of the tests' own: dozens of keys in place of thousands.
small_spec()
{
    local dir=$1 op
    shift
    mkdir -p "$dir/op" "$dir/arch" "$dir/tiling"
    for op in "${@:-relu}"; do # on the cpu tier alone
        sed '/variant: block_tile/d; /variant: cluster/d' "spec/op/$op.yaml" \
            >"$dir/op/$op.yaml"
    done
    sed 's/row_tile: [0-9]*/row_tile: 64/' spec/arch/cpu.yaml \
        >"$dir/arch/cpu.yaml"
    cat >"$dir/buckets.yaml" <<'EOF'
ladders:
  elements: [64, 128]
  rows: [64]
  cols: [64, 128]
EOF
    cat >"$dir/tiling/elementwise.yaml" <<'EOF'
tiling: elementwise
tiers:
  cpu:
    map: {config: {block: [4096]}}
EOF
    cat >"$dir/tiling/softmax.yaml" <<'EOF'
tiling: softmax
tiers:
  cpu:
    single_tile: {config: {lanes: [32, 64]}}
    looped: {config: {lanes: [32, 64], block: [1024]}}
EOF
}

# map_spec DIR NAME [FORMULA]: an elementwise op.
map_spec()
{
    mkdir -p "$1/op"
    cat >"$1/op/$2.yaml" <<EOF
op: $2
family: elementwise
tensors:
  x: {role: in, dtype: [f32]}
  y: {role: out, like: x}
formula: ${3:-max(x, 0)}
limits:
  f32: {ulp: 4}
EOF
}

# evidence TREE: lines as a runner would write them, in which all that
# TREE/CANDIDATES.tsv lists passes; a key's first config is its fastest.
evidence()
{
    awk -F '\t' '
        function text(name, value) {
            gsub(/\\/, "\\\\", value)
            gsub(/"/, "\\\"", value)
            return "\"" name "\":\"" value "\","
        }
        function common(kind) {
            return "{" text("kind", kind) text("tier", $2) \
                text("isa", $3) text("op", $6) text("status", "pass") \
                text("device", "a chip") text("compiler", "a compiler") \
                text("reach", "measured")
        }
        $1 == "kernel" {
            print common("kernel") text("kernel", $4) text("hash", $5) \
                text("config", $7) text("worst", "") text("check", "") \
                text("detail", "") \
                "\"cases\":7,\"elements\":700,\"error\":0.25}"
        }
        $1 == "key" {
            n = split($7, configs, ",")
            for (i = 1; i <= n; i++) {
                print common("key") text("key", $4) text("ranges", $5) \
                    text("config", configs[i]) text("call", $9) \
                    "\"us\":" i ".5,\"spread\":0.01,\"rounds\":3}"
            }
        }' "$1/CANDIDATES.tsv"
}

# certify_all SPEC [KILN-OPTION...]: certificates for all of SPEC's keys, or
# those that hold the text of $keys.
certify_all()
{
    local spec=$1
    shift
    rm -rf "$work/candidates"
    "$kiln" candidates --spec "$spec" "$@" ${keys:+--keys "$keys"} \
        --out "$work/candidates" &&
        evidence "$work/candidates" >"$work/all.jsonl" &&
        "$kiln" certify --spec "$spec" "$@" "$work/all.jsonl"
}

# state DIR...: names, kinds, modes, times and contents of all below.
state()
{
    find "$@" -printf '%p %y %m %T@ %l\n' | LC_ALL=C sort
    find "$@" -type f -exec cksum {} + | LC_ALL=C sort
}

# unchanged BEFORE DIR...: state DIR is still what the file BEFORE holds.
unchanged()
{
    local before=$1
    shift
    state "$@" | diff "$before" -
}
