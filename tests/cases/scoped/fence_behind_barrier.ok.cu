// case: fence_behind_barrier
// rule: none
// where: dynamic
// nvidia: right
// launch: block=64 grid=2
// why: a whole block writes, meets, and one thread fences and sets the flag: that covers them all; the reading block waits the same way.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(word, 1u);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(word, 0u) == 0) { }
            __threadfence();
        }
        __syncthreads();
        out[threadIdx.x] = data[63 - threadIdx.x];
    }
}

int main()
{
    const int n = 64;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<2, 64>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (63 - i);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
