// case: chain_of_blocks
// rule: none
// where: dynamic
// nvidia: right
// launch: block=32 grid=3
// why: what block 0 wrote reaches block 2 by way of block 1: order is transitive.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;
        __threadfence();
        atomicExch(&word[0], 1u);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&word[0], 0u) == 0) { }
        __threadfence();
        atomicExch(&word[1], 1u);
    } else {
        while (atomicAdd(&word[1], 0u) == 0) { }
        __threadfence();
        out[0] = data[0] + 1;
    }
}

int main()
{
    const int n = 1;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<3, 32>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (42);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
