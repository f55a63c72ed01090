// case: memory_rounded_up_grid
// rule: out-of-bounds
// h200: not run
// where: dynamic
// nvidia: completes: the page beyond the end is mapped; memcheck names it
// launch: block=256 grid=4
// why: the grid is rounded up to whole blocks, and the last 24 threads write behind the end
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void scale(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * in[i < n ? i : 0];  //~ out-of-bounds
}
int main() {
  const int n = 1000;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));  //~| allocated here
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  scale<<<4, 256>>>(in, out, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != 2 * h_in[i];
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
