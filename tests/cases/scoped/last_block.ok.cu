// case: last_block
// rule: none
// where: dynamic
// nvidia: right
// launch: block=32 grid=4
// why: each block counts itself in behind a fence; the last one adds up.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (threadIdx.x != 0) return;
    data[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    if (atomicAdd(word, 1u) == gridDim.x - 1) {
        __threadfence();
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += data[i];
        out[0] = sum;
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
    for (int i = 0; i < n; i++) bad += out[i] != (10);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
