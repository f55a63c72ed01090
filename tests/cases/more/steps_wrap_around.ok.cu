// case: steps_wrap_around
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=32 grid=1
// why: the end lies below the start, and the counter meets it after it has wrapped around
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count(const unsigned *range, int *out) {
  int n = 0;
  unsigned end = range[1], step = range[2];
  for (unsigned i = range[0] + threadIdx.x * step; i != end; i += step) ++n;
  out[threadIdx.x] = n;
}
int main() {
  static unsigned h_range[3] = {0xfffffff8u, 4096, 8};
  static int h_out[32];
  unsigned *range;
  int *out, bad = 0;
  CK(cudaMalloc(&range, sizeof h_range));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(range, h_range, sizeof h_range, cudaMemcpyHostToDevice));
  count<<<1, 32>>>(range, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != 513 - i;
  std::printf("elements=32 mismatches=%d\n", bad);
  CK(cudaFree(range));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
