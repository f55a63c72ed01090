// case: own_flag_before_its_write
// rule: none
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: the flag is set before it is waited for
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void check_in(const int *in, int *out, int *flags) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) {
    atomicExch(&flags[blockIdx.x], 1);
    while (atomicAdd(&flags[blockIdx.x], 0) == 0) {}
  }
  __syncthreads();
  out[i] = in[i] * 2;
}
static int want(const int *in, int i) { return in[i] * 2; }
int main() {
  const int n = 128;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *flags;
  CK(cudaMalloc(&flags, 2 * sizeof *flags));
  CK(cudaMemset(flags, 0, 2 * sizeof *flags));
  check_in<<<2, 64>>>(in, out, flags);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
