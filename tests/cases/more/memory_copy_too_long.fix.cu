// case: memory_copy_too_long
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=64 grid=1
// why: the size of the device buffer is copied
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fill(int *out) {
  out[threadIdx.x] = threadIdx.x;
}
int main() {
  const int n = 64;
  static int h_out[n + 1];
  int *out, bad = 0;
  CK(cudaMalloc(&out, n * sizeof(int)));
  fill<<<1, n>>>(out);
  CK(cudaGetLastError());
  CK(cudaMemcpy(h_out, out, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != i;
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
