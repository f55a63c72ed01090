// case: order_flag_per_block
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: a fence stands between the slice and the flag
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void shift(const int *in, int *slice, int *out, volatile int *ready) {
  int b = blockIdx.x, t = threadIdx.x;
  slice[b * 32 + t] = in[b * 32 + t] - 4;
  __syncthreads();
  if (t == 0) __threadfence();
  if (t == 0) ready[b] = 1;
  if (b > 0) {
    if (t == 0) {
      while (ready[b - 1] == 0) {}
      __threadfence();
    }
    __syncthreads();
    out[b * 32 + t] = slice[(b - 1) * 32 + 31 - t];
  } else {
    out[t] = in[t];
  }
}
static int want(const int *in, int i) { return i < 32 ? in[i] : in[(i / 32 - 1) * 32 + 31 - i % 32] - 4; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *slice;
  CK(cudaMalloc(&slice, 128 * sizeof *slice));
  CK(cudaMemset(slice, 0, 128 * sizeof *slice));
  int *ready;
  CK(cudaMalloc(&ready, 4 * sizeof *ready));
  CK(cudaMemset(ready, 0, 4 * sizeof *ready));
  shift<<<4, 32>>>(in, slice, out, ready);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
