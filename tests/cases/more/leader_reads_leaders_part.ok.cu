// case: leader_reads_leaders_part
// rule: none
// where: both
// nvidia: completes
// launch: block=64 grid=4
// why: every thread stores, but only what the leader stored itself is read behind its flag
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void leaders(const int *in, int *data, int *out, int *flags) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = in[i] * 2;
  __threadfence();
  if (threadIdx.x == 0) {
    atomicExch(&flags[blockIdx.x], 1);
    if (blockIdx.x > 0) {
      while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {}
      __threadfence();
      out[blockIdx.x] = data[(blockIdx.x - 1) * blockDim.x];
    }
  }
}
static int want(const int *in, int i) { return i % 64 == 0 && i / 64 < 1 ? 0 : i < 4 ? in[(i - 1) * 64] * 2 : 0; }
int main() {
  const int n = 256;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *flags;
  CK(cudaMalloc(&flags, 4 * sizeof *flags));
  CK(cudaMemset(flags, 0, 4 * sizeof *flags));
  int *data;
  CK(cudaMalloc(&data, 256 * sizeof *data));
  CK(cudaMemset(data, 0, 256 * sizeof *data));
  leaders<<<4, 64>>>(in, data, out, flags);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
