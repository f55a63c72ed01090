// case: warps_no_fence
// rule: missing-release
// also: shared-race
// where: dynamic
// nvidia: wrong-result
// launch: block=64 grid=1
// why: two warps of one block, and nothing orders the payload before the flag.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void run(int *data, int *out, unsigned *word)
{
    __shared__ volatile unsigned flag;
    __shared__ int box[64];
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        box[threadIdx.x] = 41;                                  //~| written, perhaps later than the flag

        flag = 1;                                               //~ missing-release
    } else if (threadIdx.x == 32) {
        while (flag == 0) { }
        __threadfence_block();
        out[0] = box[threadIdx.x - 32] + 1;                     //~| the payload
    }
}

int main()
{
    const int n = 1;
    int out[n], bad = 0, *data, *result; unsigned *word;
    CK(cudaMalloc(&data, 4096)); CK(cudaMalloc(&result, sizeof out)); CK(cudaMalloc(&word, 4096));
    CK(cudaMemset(data, 0, 4096)); CK(cudaMemset(result, 0, sizeof out)); CK(cudaMemset(word, 0, 4096));
    run<<<1, 64>>>(data, result, word);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) bad += out[i] != (42);
    printf("elements=%d mismatches=%d\n", n, bad);
    return bad ? 2 : 0;
}
