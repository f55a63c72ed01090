// case: ring_of_tickets
// rule: none
// where: dynamic
// nvidia: right
// launch: block=32 grid=4
// why: blocks take turns by a ticket that is passed on with acquire and release in one atomic.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__device__ unsigned look(unsigned *p)
{
    unsigned v;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ void pass_on(unsigned *p)
{
    unsigned v;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;" : "=r"(v) : "l"(p) : "memory");
}

__global__ void run(int *data, int *out, unsigned *word)
{
    if (threadIdx.x != 0) return;
    for (int round = 0; round < 4; round++) {
        while (look(word) != 4 * round + blockIdx.x) { }
        data[0] = data[0] * 3 + blockIdx.x;
        if (round == 3 && blockIdx.x == 3) out[0] = data[0];
        pass_on(word);
    }
}

int main()
{
    const int n = 1;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<4, 32>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (9685512);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
