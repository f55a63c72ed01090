// case: grid_sync_break_on_own_value
// rule: grid-divergence
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=32 grid=4 (cooperative launch)
// why: each block breaks out of the loop by its own element, the others keep waiting for it at the grid barrier
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void countdown(const int *in, int *out, int rounds) {
  int left = in[blockIdx.x] % 7;  //~| differs from block to block
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (left == 0) break;  //~| so does the way out
    left--;
    if (threadIdx.x == 0) out[blockIdx.x] = r;
    cg::this_grid().sync();  //~ grid-divergence
  }
}
static int want(const int *in, int i) { return in[i] % 7 - 1; }
int main() {
  static int h_in[4], h_out[4];
  int *in, *out, bad = 0;
  for (int i = 0; i < 4; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  const int *c_in = in;
  int rounds = 7;
  void *args[] = {&c_in, &out, &rounds};
  CK(cudaLaunchCooperativeKernel((const void *)countdown, dim3(4), dim3(32), args, 0, 0));
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
