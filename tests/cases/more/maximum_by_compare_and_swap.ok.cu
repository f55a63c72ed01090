// case: maximum_by_compare_and_swap
// rule: none
// where: dynamic
// nvidia: completes
// launch: block=64 grid=8
// why: the plain read is the first guess of a compare-and-swap that checks it; the value that is put there comes from no memory.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__device__ float best = -1;

__device__ void maximum(float *address, float value)
{
    int *word = (int *)address, old = *word;
    while (__int_as_float(old) < value) {
        int seen = atomicCAS(word, old, __float_as_int(value));
        if (seen == old)
            break;
        old = seen;
    }
}

__global__ void greatest()
{
    maximum(&best, (float)((blockIdx.x * 37 + threadIdx.x * 11) % 97));
}

int main()
{
    float got = 0;
    greatest<<<8, 64>>>();
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpyFromSymbol(&got, best, sizeof got));
    int bad = got != 96;
    printf("elements=1 mismatches=%d\n", bad);
    return bad ? 2 : 0;
}
