// case: memory_vector_of_three
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=32 grid=1
// why: rows of four floats are
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void gather(const float *in, float4 *out) {
  int t = threadIdx.x;
  out[t] = *reinterpret_cast<const float4 *>(in + 4 * t);
}
int main() {
  const int n = 128, m = 32;
  static float h_in[n], h_out[4 * m];
  float *in;
  float4 *out;
  int bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = i;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  gather<<<1, m>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[4 * i] != h_in[4 * i];
  std::printf("elements=%d mismatches=%d\n", m, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
