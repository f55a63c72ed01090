// case: memory_freed_before_launch
// rule: use-after-free
// h200: not run
// where: dynamic
// nvidia: completes or an error, as the page is still mapped or not
// launch: block=64 grid=1
// why: the buffer is freed before the kernel that fills it is launched
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fill(int *out) {
  out[threadIdx.x] = threadIdx.x;  //~ use-after-free
}
int main() {
  const int n = 64;
  static int h_out[n];
  int *out, *copy, bad = 0;
  CK(cudaMalloc(&out, sizeof h_out));  //~| allocated here
  CK(cudaMalloc(&copy, sizeof h_out));
  CK(cudaFree(out));  //~| freed here
  fill<<<1, n>>>(out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, copy, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != i;
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(copy));
  return bad ? 2 : 0;
}
