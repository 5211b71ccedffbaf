/* copy.cu: the copy that small launches are held against: 16 bytes a thread,
 * written by hand. Built as a shared object by vs_torch.py.
 */
#include <cstdint>

static const int THREADS = 256;

__global__ void copy_vectors(const uint4 *from, uint4 *to, long vectors)
{
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    if (at < vectors) {
        to[at] = from[at];
    }
}

/* bytes: a multiple of 16. 0, or a cudaError_t. */
extern "C" int bench_copy(const void *from, void *to, long bytes, void *stream)
{
    const long vectors = bytes / 16;
    const int blocks = (int)((vectors + THREADS - 1) / THREADS);
    copy_vectors<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(
        (const uint4 *)from, (uint4 *)to, vectors);
    return (int)cudaGetLastError();
}

/* Enqueues n copies of 16 bytes: the bare cost of a launch. */
extern "C" int bench_launches(const void *from, void *to, int n, void *stream)
{
    for (int i = 0; i < n; i++) {
        copy_vectors<<<1, THREADS, 0, (cudaStream_t)stream>>>(
            (const uint4 *)from, (uint4 *)to, 1);
    }
    return (int)cudaGetLastError();
}
