// case: exchange_writes_back
// rule: none
// where: dynamic
// nvidia: completes
// launch: block=64 grid=2
// why: the compare-and-swap succeeds only when nobody came in between, and is repeated until it does.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void product(const unsigned *in, unsigned *prod)
{
    unsigned f = in[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned p = atomicAdd(prod, 0), seen;
    while ((seen = atomicCAS(prod, p, p * f)) != p)
        p = seen;
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
