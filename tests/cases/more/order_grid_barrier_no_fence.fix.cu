// case: order_grid_barrier_no_fence
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=4
// why: the arriving thread fences before it counts and after it has waited
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ void meet(unsigned *count, unsigned all) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1u);
    while (*(volatile unsigned *)count < all) {}
    __threadfence();
  }
  __syncthreads();
}
__global__ void swap_halves(const int *in, int *tmp, int *out, unsigned *count) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  tmp[i] = in[i] + 6;
  meet(count, gridDim.x);
  out[i] = tmp[(i + n / 2) % n];
}
static int want(const int *in, int i) { return in[(i + 128) % 256] + 6; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *tmp;
  CK(cudaMalloc(&tmp, 256 * sizeof *tmp));
  CK(cudaMemset(tmp, 0, 256 * sizeof *tmp));
  unsigned *count;
  CK(cudaMalloc(&count, 1 * sizeof *count));
  CK(cudaMemset(count, 0, 1 * sizeof *count));
  swap_halves<<<4, 64>>>(in, tmp, out, count);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
