// case: lock_own_block
// rule: none
// where: dynamic
// nvidia: right
// launch: block=64 grid=2
// why: each block has a lock of its own, so block scope is enough for it and its fences.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (threadIdx.x % 32 == 0) {
        for (int round = 0; round < 8; round++) {
            while (atomicCAS_block(&word[blockIdx.x], 0u, 1u) != 0) { }
            __threadfence_block();
            data[blockIdx.x] = data[blockIdx.x] + 1;
            __threadfence_block();
            atomicExch_block(&word[blockIdx.x], 0u);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = data[blockIdx.x];
}

int main()
{
    const int n = 2;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<2, 64>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (16);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
