// case: uniform_both_arms
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=3
// why: the two arms have different barriers, but a block takes one of them as a whole
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ int pick(int mode, int b) { return mode > 0 ? b & 1 : b == 0; }
__global__ void arms(const int *in, int *out, int mode) {
  __shared__ int s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (pick(mode, blockIdx.x)) {
    s[t] = in[i];
    __syncthreads();
    out[i] = s[t ^ 7];
  } else {
    s[63 - t] = in[i] * 2;
    __syncthreads();
    out[i] = s[t];
    __syncthreads();
  }
}
static int want(const int *in, int i) { return i / 64 & 1 ? in[i ^ 7] : in[(i & ~63) + 63 - (i & 63)] * 2; }
int main() {
  static int h_in[192], h_out[192];
  int *in, *out, bad = 0;
  for (int i = 0; i < 192; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  arms<<<3, 64>>>(in, out, 1);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 192; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 192, bad);
  return bad ? 2 : 0;
}
