// case: counter_block_scope
// rule: scope-too-narrow
// where: dynamic
// nvidia: wrong-result
// launch: block=64 grid=2
// why: both blocks count in one word with atomics that are atomic within a block only.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    unsigned old = 0;
    old = atomicAdd_block(word, 1u);                         //~ scope-too-narrow

    data[blockIdx.x * blockDim.x + threadIdx.x] = old;
    if (old == 2 * blockDim.x - 1) out[0] = 1;
}

int main()
{
    const int n = 1;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<2, 64>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (1);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
