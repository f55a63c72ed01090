// case: message_flag_first
// rule: missing-release
// also: global-race
// where: dynamic
// nvidia: wrong-result
// launch: block=32 grid=2
// why: the flag is set before the payload is written; the fence comes between, but the wrong way round.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x != 0) return;
        atomicExch(word, 1u);                                   //~ missing-release
        __threadfence();
        data[0] = 41;                                           //~| too late
    } else if (threadIdx.x == 0) {
        while (atomicAdd(word, 0u) == 0) { }
        __threadfence();
        out[0] = data[0] + 1;                                   //~| perhaps before it
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
