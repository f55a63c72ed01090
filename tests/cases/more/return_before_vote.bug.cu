// case: return_before_vote
// rule: early-exit-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=4
// why: in the last block the threads beyond the end return before the counting barrier inside of the helper
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ int votes(bool yes) {
  return __syncthreads_count(yes);  //~ early-exit-barrier
}
__global__ void share(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;  //~| beyond the end
  int c = votes(in[i] > 500);  //~| call
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
