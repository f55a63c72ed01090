// case: message_fences
// rule: none
// where: dynamic
// nvidia: right
// launch: block=32 grid=2
// why: a fence on both sides, and atomics of device scope.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x != 0) return;
        data[0] = 41;
        __threadfence();
        atomicExch(word, 1u);
    } else if (threadIdx.x == 0) {
        while (atomicAdd(word, 0u) == 0) { }
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
    run<<<2, 32>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (42);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
