// case: unwritten_accumulator
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=128 grid=4
// why: the sum is cleared first
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sum(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}
int main() {
  const int n = 512;
  static int h_in[n], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  sum<<<4, 128>>>(in, out, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  int want = 0;
  for (int i = 0; i < n; ++i) want += h_in[i];
  bad = h_out[0] != want;
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
