// case: steps_of_64_bits
// rule: non-terminating-loop
// h200: not run
// where: dynamic
// nvidia: hangs
// launch: block=32 grid=1
// why: the range is no whole number of steps, and a counter of 64 bits goes past its end again and again
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count(const unsigned long long *range, int *out) {
  int n = 0;
  unsigned long long end = range[1], step = range[2];
  for (unsigned long long i = range[0] + threadIdx.x * step; i != end; i += step) ++n;  //~ non-terminating-loop
  out[threadIdx.x] = n;
}
int main() {
  static unsigned long long h_range[3] = {1, 4096, 8};
  static int h_out[32];
  unsigned long long *range;
  int *out, bad = 0;
  CK(cudaMalloc(&range, sizeof h_range));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(range, h_range, sizeof h_range, cudaMemcpyHostToDevice));
  count<<<1, 32>>>(range, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != 512 - i;
  std::printf("elements=32 mismatches=%d\n", bad);
  CK(cudaFree(range));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
