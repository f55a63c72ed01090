// case: whole_block_returns
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=6
// why: the early return depends on the block's index and a parameter, so it is taken by whole blocks only
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void flip(const int *in, int *out, int blocks) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (blockIdx.x >= blocks) return;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  out[blockIdx.x * 128 + t] = s[127 - t];
}
static int want(const int *in, int i) { return in[(i & ~127) + 127 - (i & 127)]; }
int main() {
  static int h_in[512], h_out[512];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  flip<<<6, 128>>>(in, out, 4);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 512; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 512, bad);
  return bad ? 2 : 0;
}
