// case: return_before_vote
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=4
// why: the threads beyond the end vote with zero and return afterwards
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ int votes(bool yes) {
  return __syncthreads_count(yes);
}
__global__ void share(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int c = votes(i < n && in[i < n ? i : 0] > 500);
  if (i >= n) return;
  out[i] = c;
}
static int want(const int *in, int i) {
  int c = 0;
  for (int k = i & ~255; k < (i & ~255) + 256 && k < 900; ++k) c += in[k] > 500;
  return c;
}
int main() {
  static int h_in[900], h_out[900];
  int *in, *out, bad = 0;
  for (int i = 0; i < 900; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  share<<<4, 256>>>(in, out, 900);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 900; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 900, bad);
  return bad ? 2 : 0;
}
