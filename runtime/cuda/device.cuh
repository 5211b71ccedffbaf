/* device.cuh: the hardware as kernels see it: every PTX instruction and every
 * CUDA built-in but threadIdx, blockIdx and blockDim stands here, as a small
 * function. tests/emu/device.cuh gives each of them on the CPU.
 *
 * Sections named are those of NVIDIA's "PTX ISA" 9.0, chapter 9.7. Functions
 * for warps want all 32 lanes. Those of the last part are for sm_90 and up.
 */
#ifndef KILN_CUDA_DEVICE_CUH
#define KILN_CUDA_DEVICE_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>

#define KILN_DEVICE static __device__ __forceinline__
#define KILN_KERNEL extern "C" __global__ void

/* What threads hold of memory: 16 and 8 bytes. One word, a half, a byte are
 * uint32_t, uint16_t, uint8_t. */
struct alignas(16) kiln_u32x4 {
    uint32_t word[4];
};

struct alignas(8) kiln_u32x2 {
    uint32_t word[2];
};

/* --- bits ---------------------------------------------------------------- */

/* mov.b32, mov.b64: "Data Movement: mov". */
KILN_DEVICE uint32_t kiln_bits_f32(float x)
{
    return __float_as_uint(x);
}

KILN_DEVICE float kiln_float_f32(uint32_t bits)
{
    return __uint_as_float(bits);
}

KILN_DEVICE uint64_t kiln_bits_f64(double x)
{
    return (uint64_t)__double_as_longlong(x);
}

KILN_DEVICE double kiln_float_f64(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}

/* --- 16-bit floats ------------------------------------------------------- */

/* cvt.f32.f16, exact: "Data Movement: cvt". */
KILN_DEVICE float kiln_f32_from_f16(uint16_t h)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}

/* cvt.rn.f16.f32: to nearest, ties to even. */
KILN_DEVICE uint16_t kiln_f16_from_f32(float x)
{
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}

/* A bfloat16 is the upper half of a float. */
KILN_DEVICE float kiln_f32_from_bf16(uint16_t h)
{
    return kiln_float_f32((uint32_t)h << 16);
}

/* cvt.rn.bf16.f32 from sm_80; before it by integers, NaN made quiet. */
KILN_DEVICE uint16_t kiln_bf16_from_f32(float x)
{
#if __CUDA_ARCH__ >= 800
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    const uint32_t bits = kiln_bits_f32(x);
    const uint32_t odd = (bits >> 16) & 1u;
    const uint32_t rounded = (bits + 0x7fffu + odd) >> 16;
    return (uint16_t)(x != x ? (bits >> 16) | 0x40u : rounded);
#endif
}

/* Two at once: `low` becomes the lower half of the word. cvt.rn.f16x2.f32 and
 * cvt.rn.bf16x2.f32 from sm_80. */
KILN_DEVICE uint32_t kiln_f16x2_from_f32(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return kiln_f16_from_f32(low) | (uint32_t)kiln_f16_from_f32(high) << 16;
#endif
}

KILN_DEVICE uint32_t kiln_bf16x2_from_f32(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return kiln_bf16_from_f32(low) | (uint32_t)kiln_bf16_from_f32(high) << 16;
#endif
}

KILN_DEVICE double kiln_f64_from_f16(uint16_t h)
{
    return (double)kiln_f32_from_f16(h);
}

KILN_DEVICE double kiln_f64_from_bf16(uint16_t h)
{
    return (double)kiln_f32_from_bf16(h);
}

/* Rounds to odd: cut towards zero (cvt.rz.f32.f64), the last bit set when that
 * lost something. Rounding once more to a format at least two bits shorter
 * equals one rounding (Boldo and Melquiond, "Emulation of a FMA and correctly
 * rounded sums: proved algorithms using rounding to odd", 2008). */
KILN_DEVICE float kiln_odd_f32_from_f64(double x)
{
    const float cut = __double2float_rz(x);
    const uint32_t lost = (double)cut == x || x != x ? 0 : 1u;
    return kiln_float_f32(kiln_bits_f32(cut) | lost);
}

KILN_DEVICE uint16_t kiln_f16_from_f64(double x)
{
    return kiln_f16_from_f32(kiln_odd_f32_from_f64(x));
}

KILN_DEVICE uint16_t kiln_bf16_from_f64(double x)
{
    return kiln_bf16_from_f32(kiln_odd_f32_from_f64(x));
}

/* --- arithmetic ---------------------------------------------------------- */

/* fma.rn: "Floating Point Instructions: fma". Rounded once. */
KILN_DEVICE float kiln_mad_f32(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

KILN_DEVICE double kiln_mad_f64(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}

/* abs, copysign, sqrt.rn. */
KILN_DEVICE float kiln_abs_f32(float x)
{
    return fabsf(x);
}

KILN_DEVICE double kiln_abs_f64(double x)
{
    return fabs(x);
}

KILN_DEVICE float kiln_copysign_f32(float size, float sign)
{
    return copysignf(size, sign);
}

KILN_DEVICE double kiln_copysign_f64(double size, double sign)
{
    return copysign(size, sign);
}

KILN_DEVICE float kiln_sqrt_f32(float x)
{
    return __fsqrt_rn(x);
}

KILN_DEVICE double kiln_sqrt_f64(double x)
{
    return __dsqrt_rn(x);
}

/* NaN wins over any number, from either side. max.NaN.f32, min.NaN.f32 from
 * sm_80: "Floating Point Instructions: max". */
KILN_DEVICE float kiln_max_f32(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    const float larger = a > b ? a : b; /* b when either is NaN */
    return a != a ? a : larger;
#endif
}

KILN_DEVICE float kiln_min_f32(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float smaller;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
    return smaller;
#else
    const float smaller = a < b ? a : b;
    return a != a ? a : smaller;
#endif
}

KILN_DEVICE double kiln_max_f64(double a, double b)
{
    const double larger = a > b ? a : b;
    return a != a ? a : larger;
}

KILN_DEVICE double kiln_min_f64(double a, double b)
{
    const double smaller = a < b ? a : b;
    return a != a ? a : smaller;
}

/* 2^x within 2 units of the last place. ex2.approx.f32, and with .ftz where a
 * subnormal result may be 0: "Floating Point Instructions: ex2". */
KILN_DEVICE float kiln_exp2_near_f32(float x)
{
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

KILN_DEVICE float kiln_exp2_normal_f32(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* log2(x) within 2^-22, of the result or, near x = 1, in all. lg2.approx.f32:
 * "Floating Point Instructions: lg2". */
KILN_DEVICE float kiln_log2_near_f32(float x)
{
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 1 / x within 1 unit of the last place; subnormal x or result count as 0.
 * rcp.approx.ftz.f32: "Floating Point Instructions: rcp". */
KILN_DEVICE float kiln_inverse_near_f32(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* a / b within 2 units of the last place for any b. div.full.f32: "Floating
 * Point Instructions: div". */
KILN_DEVICE float kiln_div_near_f32(float a, float b)
{
    float y;
    asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

/* --- global memory: 16, 8, 4, 2, 1 bytes, aligned to their size ---------- */

/* ld.global: "Data Movement: ld". Coherent loads all: the tensor read may be
 * the one that is written. */
KILN_DEVICE kiln_u32x4 kiln_load_u32x4(const void *at)
{
    kiln_u32x4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
                   "=r"(v.word[3])
                 : "l"(at));
    return v;
}

KILN_DEVICE kiln_u32x2 kiln_load_u32x2(const void *at)
{
    kiln_u32x2 v;
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.word[0]), "=r"(v.word[1])
                 : "l"(at));
    return v;
}

KILN_DEVICE uint32_t kiln_load_u32(const void *at)
{
    uint32_t v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(at));
    return v;
}

KILN_DEVICE uint16_t kiln_load_u16(const void *at)
{
    uint16_t v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(at));
    return v;
}

KILN_DEVICE uint8_t kiln_load_u8(const void *at)
{
    uint16_t v;
    asm volatile("ld.global.u8 %0, [%1];" : "=h"(v) : "l"(at));
    return (uint8_t)v;
}

/* The same for what is read once: not kept in L1 (.L1::no_allocate). */
KILN_DEVICE kiln_u32x4 kiln_load_once_u32x4(const void *at)
{
    kiln_u32x4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
                   "=r"(v.word[3])
                 : "l"(at));
    return v;
}

KILN_DEVICE kiln_u32x2 kiln_load_once_u32x2(const void *at)
{
    kiln_u32x2 v;
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.word[0]), "=r"(v.word[1])
                 : "l"(at));
    return v;
}

KILN_DEVICE uint32_t kiln_load_once_u32(const void *at)
{
    uint32_t v;
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(at));
    return v;
}

KILN_DEVICE uint16_t kiln_load_once_u16(const void *at)
{
    uint16_t v;
    asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(at));
    return v;
}

KILN_DEVICE uint8_t kiln_load_once_u8(const void *at)
{
    uint16_t v;
    asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=h"(v) : "l"(at));
    return (uint8_t)v;
}

/* st.global: "Data Movement: st". */
KILN_DEVICE void kiln_store_u32x4(void *at, kiln_u32x4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(at), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]),
                   "r"(v.word[3])
                 : "memory");
}

KILN_DEVICE void kiln_store_u32x2(void *at, kiln_u32x2 v)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};"
                 :
                 : "l"(at), "r"(v.word[0]), "r"(v.word[1])
                 : "memory");
}

KILN_DEVICE void kiln_store_u32(void *at, uint32_t v)
{
    asm volatile("st.global.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
}

KILN_DEVICE void kiln_store_u16(void *at, uint16_t v)
{
    asm volatile("st.global.u16 [%0], %1;" : : "l"(at), "h"(v) : "memory");
}

KILN_DEVICE void kiln_store_u8(void *at, uint8_t v)
{
    const uint16_t wide = v;
    asm volatile("st.global.u8 [%0], %1;" : : "l"(at), "h"(wide) : "memory");
}

/* The same for what is not read soon: first to leave the caches (.cs). */
KILN_DEVICE void kiln_store_once_u32x4(void *at, kiln_u32x4 v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(at), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]),
                   "r"(v.word[3])
                 : "memory");
}

KILN_DEVICE void kiln_store_once_u32x2(void *at, kiln_u32x2 v)
{
    asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};"
                 :
                 : "l"(at), "r"(v.word[0]), "r"(v.word[1])
                 : "memory");
}

KILN_DEVICE void kiln_store_once_u32(void *at, uint32_t v)
{
    asm volatile("st.global.cs.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
}

KILN_DEVICE void kiln_store_once_u16(void *at, uint16_t v)
{
    asm volatile("st.global.cs.u16 [%0], %1;" : : "l"(at), "h"(v) : "memory");
}

KILN_DEVICE void kiln_store_once_u8(void *at, uint8_t v)
{
    const uint16_t wide = v;
    asm volatile("st.global.cs.u8 [%0], %1;" : : "l"(at), "h"(wide) : "memory");
}

/* --- blocks and warps ---------------------------------------------------- */

/* The block's shared memory; its size is part of the launch. */
KILN_DEVICE unsigned char *kiln_shared(void)
{
    extern __shared__ __align__(1024) unsigned char kiln_shared_bytes[];
    return kiln_shared_bytes;
}

/* All threads of the block come here before one goes on, and see what the
 * others wrote before. barrier.sync 0: "Parallel Synchronization: barrier". */
KILN_DEVICE void kiln_barrier(void)
{
    __syncthreads();
}

/* The same for the lanes of a warp. bar.warp.sync: "bar.warp.sync". */
KILN_DEVICE void kiln_warp_barrier(void)
{
    __syncwarp();
}

/* The value of lane ^ mask. shfl.sync.bfly.b32: "Data Movement: shfl.sync";
 * 64 bits as two halves. */
KILN_DEVICE uint32_t kiln_shuffle_xor_u32(uint32_t x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask);
}

KILN_DEVICE float kiln_shuffle_xor_f32(float x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask);
}

KILN_DEVICE double kiln_shuffle_xor_f64(double x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask);
}

/* The value of lane + delta, its own past the last lane. shfl.sync.down. */
KILN_DEVICE uint32_t kiln_shuffle_down_u32(uint32_t x, int delta)
{
    return __shfl_down_sync(0xffffffffu, x, (unsigned)delta);
}

KILN_DEVICE float kiln_shuffle_down_f32(float x, int delta)
{
    return __shfl_down_sync(0xffffffffu, x, (unsigned)delta);
}

KILN_DEVICE double kiln_shuffle_down_f64(double x, int delta)
{
    return __shfl_down_sync(0xffffffffu, x, (unsigned)delta);
}

/* vote.sync.any, .all, .ballot: "Parallel Synchronization: vote.sync". */
KILN_DEVICE bool kiln_any(bool holds)
{
    return __any_sync(0xffffffffu, holds) != 0;
}

KILN_DEVICE bool kiln_all(bool holds)
{
    return __all_sync(0xffffffffu, holds) != 0;
}

KILN_DEVICE uint32_t kiln_ballot(bool holds)
{
    return __ballot_sync(0xffffffffu, holds);
}

/* --- sm_90: clusters of blocks ------------------------------------------- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* %cluster_ctarank: this block's number in its cluster, 0 first. */
KILN_DEVICE uint32_t kiln_cluster_rank(void)
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* All threads of the cluster's blocks come here before one goes on, and see
 * what the others wrote before. barrier.cluster.arrive, .wait: "Parallel
 * Synchronization: barrier.cluster". Arrive and wait may stand apart. */
KILN_DEVICE void kiln_cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
}

/* Arrives, and says nothing of what was written before: only that this block
 * and its shared memory are there. */
KILN_DEVICE void kiln_cluster_arrive_relaxed(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
}

KILN_DEVICE void kiln_cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
}

KILN_DEVICE void kiln_cluster_barrier(void)
{
    kiln_cluster_arrive();
    kiln_cluster_wait();
}

/* Where `own`, in this block's shared memory, lies in block `rank`'s, for the
 * four functions below. mapa.shared::cluster.u32: "Data Movement: mapa". */
KILN_DEVICE uint32_t kiln_cluster_map(const void *own, uint32_t rank)
{
    const uint32_t here = (uint32_t)__cvta_generic_to_shared(own);
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"(here), "r"(rank));
    return there;
}

/* The word of block `rank` that lies where `own` lies here.
 * ld.shared::cluster, st.shared::cluster: "Data Movement: ld", "st". */
KILN_DEVICE float kiln_cluster_load_f32(const float *own, uint32_t rank)
{
    float x;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(x)
                 : "r"(kiln_cluster_map(own, rank))
                 : "memory");
    return x;
}

KILN_DEVICE double kiln_cluster_load_f64(const double *own, uint32_t rank)
{
    double x;
    asm volatile("ld.shared::cluster.f64 %0, [%1];"
                 : "=d"(x)
                 : "r"(kiln_cluster_map(own, rank))
                 : "memory");
    return x;
}

KILN_DEVICE void kiln_cluster_store_f32(float *own, uint32_t rank, float x)
{
    asm volatile("st.shared::cluster.f32 [%0], %1;"
                 :
                 : "r"(kiln_cluster_map(own, rank)), "f"(x)
                 : "memory");
}

KILN_DEVICE void kiln_cluster_store_f64(double *own, uint32_t rank, double x)
{
    asm volatile("st.shared::cluster.f64 [%0], %1;"
                 :
                 : "r"(kiln_cluster_map(own, rank)), "d"(x)
                 : "memory");
}

/* Stores to block `rank` without waiting, and counts the bytes on the barrier
 * that lies there where `barrier` lies here. st.async: "Data Movement:
 * st.async". */
KILN_DEVICE void kiln_cluster_send_f32(float *own, uint32_t rank, float x,
                                       uint64_t *barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 "
                 "[%0], %1, [%2];"
                 :
                 : "r"(kiln_cluster_map(own, rank)), "f"(x),
                   "r"(kiln_cluster_map(barrier, rank))
                 : "memory");
}

KILN_DEVICE void kiln_cluster_send_f64(double *own, uint32_t rank, double x,
                                       uint64_t *barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f64 "
                 "[%0], %1, [%2];"
                 :
                 : "r"(kiln_cluster_map(own, rank)), "d"(x),
                   "r"(kiln_cluster_map(barrier, rank))
                 : "memory");
}

/* --- sm_90: bulk copies -------------------------------------------------- */

/* A barrier in shared memory that counts `arrivals`, then bytes: "Parallel
 * Synchronization: mbarrier". One thread makes it; the fence and a block
 * barrier stand between that and its use. */
KILN_DEVICE void kiln_mbarrier_init(uint64_t *barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier)),
                   "r"(arrivals)
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

/* Arrives, and has the phase wait for that many bytes more.
 * mbarrier.arrive.expect_tx. */
KILN_DEVICE void kiln_mbarrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(bytes)
                 : "memory");
}

/* Arrives. mbarrier.arrive. */
KILN_DEVICE void kiln_mbarrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier))
                 : "memory");
}

/* Waits until the phase of that parity (the first: 0) is complete; what was
 * copied is then seen. mbarrier.try_wait.parity. */
KILN_DEVICE void kiln_mbarrier_wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(parity)
                 : "memory");
}

/* Copies to shared memory without the threads' help and counts the bytes on
 * `barrier`. Both ends and the size are multiples of 16.
 * cp.async.bulk.shared::cluster.global: "Data Movement: cp.async.bulk". */
KILN_DEVICE void kiln_bulk_load(void *to, const void *from, uint32_t bytes,
                                uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
                 "::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from),
                   "r"(bytes), "r"((uint32_t)__cvta_generic_to_shared(barrier))
                 : "memory");
}

/* Asks for memory to be in L2 soon; changes nothing else. Same multiples.
 * cp.async.bulk.prefetch.L2: "Data Movement: cp.async.bulk.prefetch". */
KILN_DEVICE void kiln_bulk_prefetch(const void *from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
                 :
                 : "l"(from), "r"(bytes)
                 : "memory");
}

#endif

#endif /* KILN_CUDA_DEVICE_CUH */
