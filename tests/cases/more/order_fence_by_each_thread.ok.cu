// case: order_fence_by_each_thread
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: every storing thread fences before the block barrier, as in the threadFenceReduction sample
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void pass(const int *in, int *data, int *out, volatile int *flag) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = in[t] * 9;
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
  } else {
    if (t == 0) while (*flag == 0) {}
    __syncthreads();
    __threadfence();
    out[t] = data[63 - t];
  }
}
static int want(const int *in, int i) { return in[63 - i] * 9; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *data;
  CK(cudaMalloc(&data, 64 * sizeof *data));
  CK(cudaMemset(data, 0, 64 * sizeof *data));
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  pass<<<2, 64>>>(in, data, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
