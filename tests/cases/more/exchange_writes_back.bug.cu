// case: exchange_writes_back
// rule: lost-update
// where: dynamic
// nvidia: wrong-result
// launch: block=64 grid=2
// why: each access is atomic, but the product is read and exchanged in two steps; a factor that comes in between is lost.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    printf("CUDA error: %s (line %d)\n", cudaGetErrorString(e_), __LINE__); return 1; } } while (0)

__global__ void product(const unsigned *in, unsigned *prod)
{
    unsigned f = in[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned p = atomicAdd(prod, 0);                            //~| read of the old value
    atomicExch(prod, p * f);                                    //~ lost-update
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
