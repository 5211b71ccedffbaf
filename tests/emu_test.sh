#!/bin/bash
# The CPU harness (tests/emu) tested by kernels whose results are known
# (tests/emu/fixtures), in three builds: plain, AddressSanitizer with UBSan,
# ThreadSanitizer. Then mutants of those kernels, made by sed: each must be
# found, and named by what is wrong. No GPU and no CUDA toolkit is needed.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${BUILD:-build}/emu
cc=${CC:-cc}
cxx=${CXX:-c++}
san='-fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer'
kernel='-x c++ -std=c++17 -g -Wall -Wextra -Wno-unknown-pragmas -Werror
    -ffp-contract=off -Itests/emu -Itests/emu/fixtures -Iruntime/cuda
    -Iruntime -shared -fPIC'
passed=0
failed=0
export TSAN_OPTIONS='exitcode=66 atexit_sleep_ms=0 report_bugs=1'
export ASAN_OPTIONS='exitcode=67 detect_stack_use_after_return=0'
export UBSAN_OPTIONS=print_stacktrace=1

ok()
{
    passed=$((passed + 1))
    echo "ok $1"
}

not_ok()
{
    failed=$((failed + 1))
    echo "not ok $1"
    head -n 30 "$dir/said" | sed 's/^/# /'
}

# Fibers of gcc's ThreadSanitizer cost a millisecond each; clang's do not.
tools()
{
    engine_cc=$cc
    kernel_cxx=$cxx
    engine_flags=
    case $1 in
    plain) flags=-O2 ;;
    asan)  flags="-O1 $san" ;;
    tsan)
        flags='-O1 -fsanitize=thread'
        engine_flags='-fno-sanitize=thread -DKILN_EMU_TSAN'
        if command -v clang clang++ >/dev/null; then
            engine_cc=clang
            kernel_cxx=clang++
        fi
        ;;
    esac
}

# engine MODE: the program that runs kernels, once.
engine()
{
    local file objects=()
    mkdir -p "$dir/$1"
    tools "$1"
    for file in tests/emu/*.c tests/emu/fixtures/check.c; do
        objects+=("$dir/$1/$(basename "$file" .c).o")
        # shellcheck disable=SC2086
        "$engine_cc" -std=c11 -g -Iruntime -Itests $flags $engine_flags \
            -c "$file" -o "${objects[-1]}" || return 1
    done
    # shellcheck disable=SC2086
    "$engine_cc" $flags -rdynamic "${objects[@]}" -o "$dir/$1/check" \
        -ldl -lm -pthread
}

# run MODE FILE KERNEL: compiles the file and runs it; both speak to said.
run()
{
    tools "$1"
    # shellcheck disable=SC2086
    "$kernel_cxx" $kernel $flags "$2" -o "$dir/$1/$3.so" >"$dir/said" 2>&1 &&
        timeout 120 "$dir/$1/check" "$dir/$1/$3.so" "$3" >>"$dir/said" 2>&1
}

good()
{
    local name="$2 is right in every order ($1)"
    if run "$1" "tests/emu/fixtures/$2.cu" "$2" && [ ! -s "$dir/said" ]; then
        ok "$name"
    else
        not_ok "$name"
    fi
}

# mutant MODE KERNEL WHAT SED PATTERN...: the edit is made, the run fails, and
# every pattern is said.
mutant()
{
    local mode=$1 kernel_name=$2 name="$3 ($1 $2)" pattern
    local file=$dir/mutant/$2.cu
    mkdir -p "$dir/mutant"
    sed -E "$4" "tests/emu/fixtures/$2.cu" >"$file"
    shift 4
    echo "the mutation changes nothing" >"$dir/said"
    if cmp -s "tests/emu/fixtures/$kernel_name.cu" "$file" ||
        run "$mode" "$file" "$kernel_name"; then
        not_ok "$name"
        return
    fi
    for pattern in "$@"; do
        if ! grep -qE -- "$pattern" "$dir/said"; then
            not_ok "$name: nobody says $pattern"
            return
        fi
    done
    ok "$name"
}

# Every function of runtime/cuda/device.cuh is in its twin, and no other.
signatures()
{
    tr '\n' ' ' <"$1" | sed -E 's,/\*[^*]*\*+([^/*][^*]*\*+)*/, ,g' |
        grep -oE 'KILN_(DEVICE|INLINE) [a-z0-9_ *]+\([^(){}]*\) *\{' |
        sed -E 's/,? *KILN_EMU_LINE//; s/\( *void *\)/()/; s/ +/ /g
            s/ ?([(){,*]) ?/\1/g; s/KILN_[A-Z]+ //' |
        grep -v kiln_emu_ | LC_ALL=C sort
}

twins()
{
    local name="device.cuh and its twin have the same functions"
    # Conversions and bits come from runtime/cpu/half.h.
    signatures runtime/cuda/device.cuh >"$dir/device"
    {
        signatures tests/emu/device.cuh
        signatures runtime/cpu/half.h
    } | LC_ALL=C sort >"$dir/twin"
    if [ -s "$dir/device" ] &&
        diff "$dir/device" "$dir/twin" >"$dir/said"; then
        ok "$name"
    else
        not_ok "$name"
    fi
}

mkdir -p "$dir"
for mode in plain asan tsan; do
    if ! engine "$mode" >"$dir/said" 2>&1; then
        not_ok "the engine builds ($mode)"
        continue
    fi
    for file in tests/emu/fixtures/*.cu; do
        good "$mode" "$(basename "$file" .cu)"
    done
done
twins

# --- barriers -----------------------------------------------------------------
race='WARNING: ThreadSanitizer: data race'
mutant tsan block_sum "a deleted barrier" '/partials are whole/d' \
    "$race" '#0 block_sum.*block_sum.cu:[0-9]+' 'kernel block_sum, block 0'
mutant tsan block_sum "a deleted barrier before reuse" '/partials are read/d' \
    "$race" 'block_sum.cu:[0-9]+' 'kernel block_sum, block 0'
mutant plain block_sum "a deleted barrier" '/partials are whole/d' \
    'block_sum: y\[0\] (is|was)'
mutant tsan block_sum "a race through shared memory, same value" \
    's/threadIdx.x % 32 == 0/threadIdx.x % 32 < 2/' \
    "$race" 'Write of size 4' 'kernel block_sum, block 0'
mutant tsan stages "a deleted warp barrier" '/of all lanes/d' "$race"
mutant tsan bulk "a deleted named barrier" '/result is whole/d' "$race"
mutant plain named "a barrier that nobody can complete" \
    's/more_barrier\(3, 64\)/more_barrier(3, 96)/' \
    'barrier 3: asked for 96 threads, another for 64'
mutant plain named "a deadlock" 's/more_barrier_arrive\(3, 64\)/;/' \
    'deadlock' 'threads 0 to 31 wait at line [0-9]+ for barrier 0' \
    'threads 32 to 63 wait at line [0-9]+ for barrier 3, .* 1 warps .* of 2'
mutant plain named "a barrier in a branch of a warp" \
    's/^    kiln_barrier\(\);.*/if (lane) {\nkiln_barrier();\n} else {\nkiln_barrier();\n}/' \
    'lanes of a warp came from line [0-9]+ and line [0-9]+'

# --- asynchronous copies ---------------------------------------------------------
mutant asan stages "a deleted wait" '/this chunk is here/d' \
    'use-after-poison' '#[01] .*stages.*stages.cu:[0-9]+' \
    'kernel stages, block 0, thread'
mutant plain stages "a deleted wait" '/this chunk is here/d' \
    'stages: y\[[0-9]+\] (is|was)'
mutant plain stages "a deleted last wait" '/last chunk is here/d' \
    'cp.async: nothing ever waits for this copy'
mutant plain stages "a wait for too little" 's/copy_wait\(1\)/copy_wait(2)/' \
    'stages: y\[[0-9]+\] (is|was)'
mutant asan bulk "a deleted mbarrier wait" '/kiln_mbarrier_wait\(&ring->full/,/landed/d' \
    'use-after-poison|deadlock' 'kernel bulk, block 0'
mutant plain bulk "a deleted mbarrier wait" '/kiln_mbarrier_wait\(&ring->full/,/landed/d' \
    'bulk: y\[[0-9]+\] (is|was)|kernel bulk, block'
mutant tsan bulk "a stage refilled too early" 's/.*the stage is free.*/(void)turn;/' \
    "$race" 'kernel bulk, block 0'
mutant plain bulk "bytes that nobody expects" '/kiln_mbarrier_expect/d' \
    'deadlock' 'wait at line [0-9]+ for phase parity 0 of an mbarrier'
mutant tsan bulk "a deleted barrier after init" '/mbarriers are made/d' \
    "not initialised|$race"
mutant plain bulk "a store nobody waits for" '/until it is read/d' \
    'bulk store: nothing waits'

# --- bounds, and what is left undone ---------------------------------------------
mutant asan tail "a read one past the end" 's/arg.x \+ k\)/arg.x + k + 1)/' \
    'heap-buffer-overflow' 'READ of size 4' 'tail.cu:[0-9]+' \
    'kernel tail, block 2, thread 4'
mutant asan tail "a write one past the end" 's/end = arg.n/end = arg.n + 1/' \
    'heap-buffer-overflow' 'tail.cu:[0-9]+'
mutant plain tail "an unwritten last element" 's/end = arg.n/end = arg.n - 1/' \
    'tail: y\[530\] was never written'
mutant plain tail "a misaligned load" 's/once_u32x4\(arg.x \+ i/&+1/' \
    'kernel tail, block 0, thread 0, line [0-9]+: load: misaligned'
mutant asan block_sum "shared memory past its end" 's/partial\[threadIdx.x/&+32/' \
    'heap-buffer-overflow' 'WRITE of size 4' 'block_sum.cu:[0-9]+'
mutant plain block_sum "shared memory past its end" \
    's/partial\[threadIdx.x/&+32/' \
    'block_sum: y\[0\]|past the end of its 12 bytes of shared memory'

# --- warps ------------------------------------------------------------------------
mutant plain lanes "a mask without the caller" 's/\(0xffffu, v, 8/(0xff00u, v, 8/' \
    'kernel lanes, block 0, thread [0-7], line [0-9]+: shuffle xor: mask 0x0000ff00 lacks the calling lane [0-7]'
mutant plain lanes "a mask with lanes that are elsewhere" \
    's/\(0xffffu, v, 8/(~0u, v, 8/' \
    'shuffle xor|syncwarp' 'is in another collective'
mutant plain lanes "lanes with different masks" \
    's/\(0xffffu, v, 8/(lane < 4 ? 0xfu : 0xffffu, v, 1/' \
    'syncwarp: lane [0-3] has mask 0xffffffff, lane [0-9]+ at line [0-9]+ has 0x0000ffff'
mutant plain lanes "masks that contradict" \
    's/\(0xffffu, v, 8/(lane < 4 ? 0xffu : 0xffffu, v, 1/' \
    'shuffle xor: lane [0-9]+ has mask 0x0+(00)?ff(ff)?, lane [0-9]+ at line [0-9]+ has'
mutant plain lanes "a shuffle from outside of the mask" \
    's/\(0xffffu, v, 8/(0xffffu, v, 16/' \
    'lane 0 reads lane 16, which mask 0x0000ffff lacks'
mutant plain block_sum "a lane that ended" \
    's/float \*partial = .*/if (threadIdx.x == 5) return;\n&/' \
    'shuffle xor: .*(lane 5 ended|ended or never were)'
mutant plain block_sum "divergent lanes" \
    's/partial\[warp\];/kiln_any(threadIdx.x \& 1 ? kiln_all(true) : true);/' \
    'is in another collective|deadlock'

# --- clusters -----------------------------------------------------------------------
mutant plain cluster "a peer that may not have begun" '/blocks have begun/d' \
    'before a cluster barrier shows that it has begun'
mutant tsan cluster "a deleted cluster barrier" '/all sums are here/d' "$race"
mutant plain cluster "a peer that has ended" '/reads a peer any more/d' \
    'shared memory is used after it ended'
mutant plain send "a peer that may not have begun" \
    's/kiln_cluster_arrive_relaxed\(\);//; /all blocks have begun/d' \
    'before a cluster barrier shows that it has begun'
mutant asan send "sent numbers read too early" '/all numbers are here/d' \
    'use-after-poison|send: y\[|ended before'
mutant plain send "bytes that are one too many" 's/4 \* \(sizeof/5 * (sizeof/' \
    'deadlock' 'phase parity 0 of an mbarrier'
mutant tsan tail "two blocks that write the same" \
    's/\(int64_t\)blockIdx.x/(int64_t)(blockIdx.x \/ 2)/' \
    "$race" 'kernel tail, block 1' 'tail.cu:[0-9]+'

# --- what does not compile -------------------------------------------------------------
mutant plain tail "a float atomic" \
    's/kiln_store_u32\(arg.y \+ k, .*/atomicAdd(arg.y + k, v);/' \
    'kiln: a float atomic'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
