// case: exited_warp_named
// rule: barrier-count
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=128 grid=1
// why: warp 3 returns, and the named barrier of the remaining 96 threads still names 128
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void three_warps(const int *in, int *out) {
  __shared__ int s[96];
  unsigned t = threadIdx.x, warp = t / 32;
  if (warp == 3) return;  //~| one warp leaves
  s[t] = in[t] + in[t + 32];
  asm volatile("bar.sync 5, 128;" ::: "memory");  //~ barrier-count
  out[t] = s[95 - t];
}
static int want(const int *in, int i) { return in[95 - i] + in[95 - i + 32]; }
int main() {
  static int h_in[128], h_out[96];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  three_warps<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 96; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 96, bad);
  return bad ? 2 : 0;
}
