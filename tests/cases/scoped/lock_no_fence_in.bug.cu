// case: lock_no_fence_in
// rule: missing-acquire
// where: dynamic
// nvidia: wrong-result
// launch: block=32 grid=2
// why: behind the compare-and-swap that takes the lock there is no fence, so what it protects may be read before.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (threadIdx.x != 0) return;
    for (int round = 0; round < 8; round++) {
        while (atomicCAS(word, 0u, 1u) != 0) { }                        //~ missing-acquire

        data[0] = data[0] + 1;                                  //~| what the lock is for
        __threadfence();
        atomicExch(word, 0u);
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
    for (int i = 0; i < n; i++) bad += out[i] != (0);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
