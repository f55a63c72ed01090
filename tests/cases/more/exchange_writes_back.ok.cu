// case: exchange_writes_back
// rule: none
// where: dynamic
// nvidia: completes
// launch: block=64 grid=2
// why: the product is read and exchanged in two steps, by whoever holds the lock.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__device__ int lock;

__global__ void product(const unsigned *in, unsigned *prod)
{
    unsigned f = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            unsigned p = atomicAdd(prod, 0);
            atomicExch(prod, p * f);
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
}

int main()
{
    const int block = 64, grid = 2, n = block * grid;
    unsigned in[n], want = 1, got = 1, *d_in, *d_prod;          // odd factors: no order gives 0
    for (int i = 0; i < n; i++) { in[i] = 2 * i + 3; want *= in[i]; }
    CK(cudaMalloc(&d_in, sizeof in));
    CK(cudaMalloc(&d_prod, sizeof got));
    CK(cudaMemcpy(d_prod, &got, sizeof got, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    product<<<grid, block>>>(d_in, d_prod);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&got, d_prod, sizeof got, cudaMemcpyDeviceToHost));
    int bad = got != want;
    printf("elements=1 mismatches=%d\n", bad);
    return bad ? 2 : 0;
}
