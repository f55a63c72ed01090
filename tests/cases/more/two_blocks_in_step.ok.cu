// case: two_blocks_in_step
// rule: none
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: each block may be one step ahead: the first step waits for nothing
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void in_step(const int *in, int *out, volatile int *step, int n) {
  int b = blockIdx.x;
  if (threadIdx.x != 0) return;
  for (int s = 0; s < n; ++s) {
    while (step[b ^ 1] < s) {}
    __threadfence();
    step[b] = s + 1;
  }
  out[b] = in[b] + n;
}
static int want(const int *in, int i) { return in[i] + 5; }
int main() {
  const int n = 2;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *step;
  CK(cudaMalloc(&step, 2 * sizeof *step));
  CK(cudaMemset(step, 0, 2 * sizeof *step));
  in_step<<<2, 64>>>(in, out, step, 5);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
