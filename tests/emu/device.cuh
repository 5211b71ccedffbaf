/* device.cuh: the hardware as kernels see it, on the CPU. The twin of
 * runtime/cuda/device.cuh: the same functions, each with one more argument
 * that nobody gives, the line of the call, which errors name.
 *
 * What a kernel may use is what stands here: a float atomic, inline PTX or a
 * built-in of CUDA does not compile.
 */
#ifndef KILN_EMU_DEVICE_CUH
#define KILN_EMU_DEVICE_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <type_traits>

#include "calls.h"
#include "cpu/half.h" /* bits, and conversions of 16-bit floats */

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

#define threadIdx (emu_now->thread_index)
#define blockIdx (emu_now->place->block_index)
#define blockDim (emu_now->place->block_dim)
#define gridDim (emu_now->place->grid_dim)

#define KILN_DEVICE static __device__ __forceinline__
#define KILN_KERNEL extern "C" __global__ void
#define KILN_EMU_LINE int line = __builtin_LINE()
#define KILN_EMU_ALL_LANES 0xffffffffu

/* Memory has no type: tensors of halves are read as words. */
struct __attribute__((may_alias, aligned(16))) kiln_u32x4 {
    uint32_t word[4];
};

struct __attribute__((may_alias, aligned(8))) kiln_u32x2 {
    uint32_t word[2];
};

/* Sums of floats depend on their order, and an atomic has none. */
template <typename T> T atomicAdd(T *, T)
{
    static_assert(!std::is_floating_point<T>::value,
                  "kiln: a float atomic: its order of additions is not fixed");
    static_assert(std::is_floating_point<T>::value,
                  "kiln: an atomic that device.cuh does not have");
    return T();
}

/* --- 16-bit floats -------------------------------------------------------- */

KILN_DEVICE uint32_t kiln_f16x2_from_f32(float low, float high)
{
    return kiln_f16_from_f32(low) | (uint32_t)kiln_f16_from_f32(high) << 16;
}

KILN_DEVICE uint32_t kiln_bf16x2_from_f32(float low, float high)
{
    return kiln_bf16_from_f32(low) | (uint32_t)kiln_bf16_from_f32(high) << 16;
}

/* --- arithmetic ----------------------------------------------------------- */

KILN_DEVICE float kiln_mad_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

KILN_DEVICE double kiln_mad_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

KILN_DEVICE float kiln_abs_f32(float x)
{
    return __builtin_fabsf(x);
}

KILN_DEVICE double kiln_abs_f64(double x)
{
    return __builtin_fabs(x);
}

KILN_DEVICE float kiln_copysign_f32(float size, float sign)
{
    return __builtin_copysignf(size, sign);
}

KILN_DEVICE double kiln_copysign_f64(double size, double sign)
{
    return __builtin_copysign(size, sign);
}

KILN_DEVICE float kiln_sqrt_f32(float x)
{
    return __builtin_sqrtf(x);
}

KILN_DEVICE double kiln_sqrt_f64(double x)
{
    return __builtin_sqrt(x);
}

/* NaN wins, and -0 is less than +0: PTX ISA, max and min. */
template <typename T> KILN_DEVICE T kiln_emu_max(T a, T b)
{
    if (a != a || b != b) {
        return (T)__builtin_nan("");
    }
    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}

KILN_DEVICE float kiln_max_f32(float a, float b)
{
    return kiln_emu_max(a, b);
}

KILN_DEVICE float kiln_min_f32(float a, float b)
{
    return -kiln_emu_max(-a, -b);
}

KILN_DEVICE double kiln_max_f64(double a, double b)
{
    return kiln_emu_max(a, b);
}

KILN_DEVICE double kiln_min_f64(double a, double b)
{
    return -kiln_emu_max(-a, -b);
}

/* .ftz: a subnormal is 0 of its sign. */
KILN_DEVICE float kiln_emu_flush(float x)
{
    return __builtin_fabsf(x) < FLT_MIN ? __builtin_copysignf(0.0f, x) : x;
}

/* The approximations of the hardware, here rounded well. */
KILN_DEVICE float kiln_exp2_near_f32(float x)
{
    return __builtin_exp2f(x);
}

KILN_DEVICE float kiln_exp2_normal_f32(float x)
{
    return kiln_emu_flush(__builtin_exp2f(kiln_emu_flush(x)));
}

KILN_DEVICE float kiln_log2_near_f32(float x)
{
    return __builtin_log2f(x);
}

KILN_DEVICE float kiln_inverse_near_f32(float x)
{
    const float flushed = kiln_emu_flush(x);
    const float inverse =
        flushed == 0 ? __builtin_copysignf(INFINITY, flushed) : 1 / flushed;
    return kiln_emu_flush(inverse);
}

KILN_DEVICE float kiln_div_near_f32(float a, float b)
{
    return b == 0 ? (a == 0 || a != a ? NAN
                                      : __builtin_copysignf(INFINITY, a) *
                                            __builtin_copysignf(1.0f, b))
                  : a / b;
}

/* --- global memory -------------------------------------------------------- */

typedef uint32_t __attribute__((may_alias)) kiln_emu_u32;
typedef uint16_t __attribute__((may_alias)) kiln_emu_u16;

template <typename T> KILN_DEVICE T kiln_emu_load(const void *at, int line)
{
    if ((uintptr_t)at % sizeof(T)) {
        emu_refuse(line, "load: misaligned address");
    }
    return *(const T *)at;
}

template <typename T>
KILN_DEVICE void kiln_emu_store(void *at, const T &v, int line)
{
    if ((uintptr_t)at % sizeof(T)) {
        emu_refuse(line, "store: misaligned address");
    }
    *(T *)at = v;
}

KILN_DEVICE kiln_u32x4 kiln_load_u32x4(const void *at, KILN_EMU_LINE)
{
    return kiln_emu_load<kiln_u32x4>(at, line);
}

KILN_DEVICE kiln_u32x2 kiln_load_u32x2(const void *at, KILN_EMU_LINE)
{
    return kiln_emu_load<kiln_u32x2>(at, line);
}

KILN_DEVICE uint32_t kiln_load_u32(const void *at, KILN_EMU_LINE)
{
    return kiln_emu_load<kiln_emu_u32>(at, line);
}

KILN_DEVICE uint16_t kiln_load_u16(const void *at, KILN_EMU_LINE)
{
    return kiln_emu_load<kiln_emu_u16>(at, line);
}

KILN_DEVICE uint8_t kiln_load_u8(const void *at, KILN_EMU_LINE)
{
    return kiln_emu_load<uint8_t>(at, line);
}

KILN_DEVICE kiln_u32x4 kiln_load_once_u32x4(const void *at, KILN_EMU_LINE)
{
    return kiln_load_u32x4(at, line);
}

KILN_DEVICE kiln_u32x2 kiln_load_once_u32x2(const void *at, KILN_EMU_LINE)
{
    return kiln_load_u32x2(at, line);
}

KILN_DEVICE uint32_t kiln_load_once_u32(const void *at, KILN_EMU_LINE)
{
    return kiln_load_u32(at, line);
}

KILN_DEVICE uint16_t kiln_load_once_u16(const void *at, KILN_EMU_LINE)
{
    return kiln_load_u16(at, line);
}

KILN_DEVICE uint8_t kiln_load_once_u8(const void *at, KILN_EMU_LINE)
{
    return kiln_load_u8(at, line);
}

KILN_DEVICE void kiln_store_u32x4(void *at, kiln_u32x4 v, KILN_EMU_LINE)
{
    kiln_emu_store<kiln_u32x4>(at, v, line);
}

KILN_DEVICE void kiln_store_u32x2(void *at, kiln_u32x2 v, KILN_EMU_LINE)
{
    kiln_emu_store<kiln_u32x2>(at, v, line);
}

KILN_DEVICE void kiln_store_u32(void *at, uint32_t v, KILN_EMU_LINE)
{
    kiln_emu_store<kiln_emu_u32>(at, v, line);
}

KILN_DEVICE void kiln_store_u16(void *at, uint16_t v, KILN_EMU_LINE)
{
    kiln_emu_store<kiln_emu_u16>(at, v, line);
}

KILN_DEVICE void kiln_store_u8(void *at, uint8_t v, KILN_EMU_LINE)
{
    kiln_emu_store<uint8_t>(at, v, line);
}

KILN_DEVICE void kiln_store_once_u32x4(void *at, kiln_u32x4 v, KILN_EMU_LINE)
{
    kiln_store_u32x4(at, v, line);
}

KILN_DEVICE void kiln_store_once_u32x2(void *at, kiln_u32x2 v, KILN_EMU_LINE)
{
    kiln_store_u32x2(at, v, line);
}

KILN_DEVICE void kiln_store_once_u32(void *at, uint32_t v, KILN_EMU_LINE)
{
    kiln_store_u32(at, v, line);
}

KILN_DEVICE void kiln_store_once_u16(void *at, uint16_t v, KILN_EMU_LINE)
{
    kiln_store_u16(at, v, line);
}

KILN_DEVICE void kiln_store_once_u8(void *at, uint8_t v, KILN_EMU_LINE)
{
    kiln_store_u8(at, v, line);
}

/* --- blocks and warps ----------------------------------------------------- */

KILN_DEVICE unsigned char *kiln_shared(void)
{
    return emu_now->place->shared;
}

KILN_DEVICE void kiln_barrier(KILN_EMU_LINE)
{
    emu_barrier(0, 0, line);
}

KILN_DEVICE void kiln_warp_barrier(KILN_EMU_LINE)
{
    emu_warp(EMU_SYNC_WARP, KILN_EMU_ALL_LANES, 0, 0, 32, line);
}

KILN_DEVICE uint64_t kiln_emu_shuffle(emu_kind kind, uint64_t bits, int operand,
                                      int line)
{
    return emu_warp(kind, KILN_EMU_ALL_LANES, bits, (uint32_t)operand, 32,
                    line);
}

KILN_DEVICE uint32_t kiln_shuffle_xor_u32(uint32_t x, int mask, KILN_EMU_LINE)
{
    return (uint32_t)kiln_emu_shuffle(EMU_SHUFFLE_XOR, x, mask, line);
}

KILN_DEVICE float kiln_shuffle_xor_f32(float x, int mask, KILN_EMU_LINE)
{
    return kiln_float_f32(kiln_shuffle_xor_u32(kiln_bits_f32(x), mask, line));
}

KILN_DEVICE double kiln_shuffle_xor_f64(double x, int mask, KILN_EMU_LINE)
{
    return kiln_float_f64(
        kiln_emu_shuffle(EMU_SHUFFLE_XOR, kiln_bits_f64(x), mask, line));
}

KILN_DEVICE uint32_t kiln_shuffle_down_u32(uint32_t x, int delta, KILN_EMU_LINE)
{
    return (uint32_t)kiln_emu_shuffle(EMU_SHUFFLE_DOWN, x, delta, line);
}

KILN_DEVICE float kiln_shuffle_down_f32(float x, int delta, KILN_EMU_LINE)
{
    return kiln_float_f32(kiln_shuffle_down_u32(kiln_bits_f32(x), delta, line));
}

KILN_DEVICE double kiln_shuffle_down_f64(double x, int delta, KILN_EMU_LINE)
{
    return kiln_float_f64(
        kiln_emu_shuffle(EMU_SHUFFLE_DOWN, kiln_bits_f64(x), delta, line));
}

KILN_DEVICE bool kiln_any(bool holds, KILN_EMU_LINE)
{
    return emu_warp(EMU_VOTE_ANY, KILN_EMU_ALL_LANES, holds, 0, 32, line) != 0;
}

KILN_DEVICE bool kiln_all(bool holds, KILN_EMU_LINE)
{
    return emu_warp(EMU_VOTE_ALL, KILN_EMU_ALL_LANES, holds, 0, 32, line) != 0;
}

KILN_DEVICE uint32_t kiln_ballot(bool holds, KILN_EMU_LINE)
{
    return (uint32_t)emu_warp(EMU_VOTE_BALLOT, KILN_EMU_ALL_LANES, holds, 0, 32,
                              line);
}

/* --- sm_90: clusters of blocks -------------------------------------------- */

KILN_DEVICE uint32_t kiln_cluster_rank(void)
{
    return emu_now->place->rank;
}

KILN_DEVICE void kiln_cluster_arrive(KILN_EMU_LINE)
{
    emu_cluster_arrive(1, line);
}

KILN_DEVICE void kiln_cluster_arrive_relaxed(KILN_EMU_LINE)
{
    emu_cluster_arrive(0, line);
}

KILN_DEVICE void kiln_cluster_wait(KILN_EMU_LINE)
{
    emu_cluster_wait(line);
}

KILN_DEVICE void kiln_cluster_barrier(KILN_EMU_LINE)
{
    emu_cluster_arrive(1, line);
    emu_cluster_wait(line);
}

/* On the GPU this is an address of 32 bits; here the rank and the offset. */
KILN_DEVICE uint32_t kiln_cluster_map(const void *own, uint32_t rank,
                                      KILN_EMU_LINE)
{
    const unsigned char *there =
        (const unsigned char *)emu_cluster_map(own, 0, line);
    const unsigned char *base =
        (const unsigned char *)emu_cluster_map(kiln_shared(), 0, line);
    return rank << 24 | (uint32_t)(there - base);
}

template <typename T>
KILN_DEVICE T *kiln_emu_peer(const T *own, uint32_t rank, int line)
{
    T *there = (T *)emu_cluster_map(own, rank, line);
    emu_cluster_access(there, sizeof(T), line);
    return there;
}

KILN_DEVICE float kiln_cluster_load_f32(const float *own, uint32_t rank,
                                        KILN_EMU_LINE)
{
    return *kiln_emu_peer(own, rank, line);
}

KILN_DEVICE double kiln_cluster_load_f64(const double *own, uint32_t rank,
                                         KILN_EMU_LINE)
{
    return *kiln_emu_peer(own, rank, line);
}

KILN_DEVICE void kiln_cluster_store_f32(float *own, uint32_t rank, float x,
                                        KILN_EMU_LINE)
{
    *kiln_emu_peer(own, rank, line) = x;
}

KILN_DEVICE void kiln_cluster_store_f64(double *own, uint32_t rank, double x,
                                        KILN_EMU_LINE)
{
    *kiln_emu_peer(own, rank, line) = x;
}

template <typename T>
KILN_DEVICE void kiln_emu_send(T *own, uint32_t rank, T x, uint64_t *barrier,
                               int line)
{
    emu_send(emu_cluster_map(own, rank, line), &x, sizeof x,
             (uint64_t *)emu_cluster_map(barrier, rank, line), line);
}

KILN_DEVICE void kiln_cluster_send_f32(float *own, uint32_t rank, float x,
                                       uint64_t *barrier, KILN_EMU_LINE)
{
    kiln_emu_send(own, rank, x, barrier, line);
}

KILN_DEVICE void kiln_cluster_send_f64(double *own, uint32_t rank, double x,
                                       uint64_t *barrier, KILN_EMU_LINE)
{
    kiln_emu_send(own, rank, x, barrier, line);
}

/* --- sm_90: bulk copies --------------------------------------------------- */

KILN_DEVICE void kiln_mbarrier_init(uint64_t *barrier, uint32_t arrivals,
                                    KILN_EMU_LINE)
{
    emu_mbarrier_init(barrier, arrivals, line);
}

KILN_DEVICE void kiln_mbarrier_expect(uint64_t *barrier, uint32_t bytes,
                                      KILN_EMU_LINE)
{
    emu_mbarrier_arrive(barrier, bytes, line);
}

KILN_DEVICE void kiln_mbarrier_arrive(uint64_t *barrier, KILN_EMU_LINE)
{
    emu_mbarrier_arrive(barrier, 0, line);
}

KILN_DEVICE void kiln_mbarrier_wait(uint64_t *barrier, uint32_t parity,
                                    KILN_EMU_LINE)
{
    emu_mbarrier_wait(barrier, parity, line);
}

KILN_DEVICE void kiln_bulk_load(void *to, const void *from, uint32_t bytes,
                                uint64_t *barrier, KILN_EMU_LINE)
{
    emu_bulk_load(to, from, bytes, barrier, line);
}

/* Changes nothing; but both ends must be the tensor's. */
KILN_DEVICE void kiln_bulk_prefetch(const void *from, uint32_t bytes,
                                    KILN_EMU_LINE)
{
    if (((uintptr_t)from | bytes) % 16 || bytes == 0) {
        emu_refuse(line, "bulk prefetch: not multiples of 16");
    }
    (void)*(const volatile unsigned char *)from;
    (void)*((const volatile unsigned char *)from + bytes - 1);
}

#endif /* KILN_EMU_DEVICE_CUH */
