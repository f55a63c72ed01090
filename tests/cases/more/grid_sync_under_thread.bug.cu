// case: grid_sync_under_thread
// rule: divergent-barrier
// also: grid-divergence
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=2 (cooperative launch)
// why: the grid barrier begins with a block barrier, and only half of the threads of each block reach it
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void cross(const int *in, int *tmp, int *out) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tmp[i] = in[i] * 2;
  if (t < 32) {  //~| one warp of two
    cg::this_grid().sync();  //~ divergent-barrier
    out[i] = tmp[(i + 64) & 127];
  } else {
    out[i] = 0;
  }
}
static int want(const int *in, int i) { return i & 32 ? 0 : in[(i + 64) & 127] * 2; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *tmp;
  CK(cudaMalloc(&tmp, 128 * sizeof *tmp));
  CK(cudaMemset(tmp, 0, 128 * sizeof *tmp));
  const int *c_in = in;
  void *args[] = {&c_in, &tmp, &out};
  CK(cudaLaunchCooperativeKernel((const void *)cross, dim3(2), dim3(64), args, 0, 0));
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
