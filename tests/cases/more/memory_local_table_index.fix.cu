// case: memory_local_table_index
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=32 grid=1
// why: the ninth kind goes round to the first
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void last_seen(const int *in, int *out, int kinds, int n) {
  int seen[8];
  for (int k = 0; k < 8; ++k) seen[k] = -1;
  for (int i = 0; i < n; ++i) seen[in[i] % kinds] = i;
  int best = -1;
  for (int k = 0; k < 8; ++k) best = seen[k] > best && seen[k] % (int(threadIdx.x) + 1) == 0 ? seen[k] : best;
  out[threadIdx.x] = best;
}
int main() {
  const int n = 90, m = 32;
  static int h_in[n], h_out[m];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = i % 9;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  last_seen<<<1, m>>>(in, out, 8, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  bad += h_out[0] < 0;
  std::printf("elements=%d mismatches=%d\n", m, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
