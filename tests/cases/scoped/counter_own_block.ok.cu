// case: counter_own_block
// rule: none
// where: dynamic
// nvidia: right
// launch: block=64 grid=4
// why: block scope is enough: each block has a counter of its own.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    atomicAdd_block(&word[blockIdx.x], threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = word[blockIdx.x];
}

int main()
{
    const int n = 4;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<4, 64>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (2016);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
