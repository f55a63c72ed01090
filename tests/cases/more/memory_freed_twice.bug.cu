// case: memory_freed_twice
// rule: use-after-free
// h200: not run
// where: dynamic
// nvidia: cudaFree answers with an error
// launch: block=64 grid=1
// why: the buffer is freed by a helper and once more at the end
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fill(int *out) {
  out[threadIdx.x] = threadIdx.x;
}
static cudaError_t release(int *pointer) { return cudaFree(pointer); }
int main() {
  const int n = 64;
  static int h_out[n];
  int *out, bad = 0;
  CK(cudaMalloc(&out, sizeof h_out));  //~| allocated here
  fill<<<1, n>>>(out);
  CK(cudaGetLastError());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  CK(release(out));
  for (int i = 0; i < n; ++i) bad += h_out[i] != i;
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(out));  //~ use-after-free
  return bad ? 2 : 0;
}
