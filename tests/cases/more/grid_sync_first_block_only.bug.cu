// case: grid_sync_first_block_only
// rule: grid-divergence
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=32 grid=4 (cooperative launch)
// why: only block 0 executes the second grid barrier
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void all_blocks() {
  cooperative_groups::this_grid().sync();  //~ grid-divergence
}
__global__ void offsets(const int *in, int *sum, int *out) {
  int t = threadIdx.x, i = blockIdx.x * 32 + t, v = in[i];
  atomicAdd(&sum[blockIdx.x], v);
  all_blocks();
  if (blockIdx.x == 0) {  //~| one block of four
    if (t == 0)
      for (unsigned b = 1; b < gridDim.x; ++b) sum[b] += sum[b - 1];
    all_blocks();  //~| call
  }
  out[i] = v + (blockIdx.x ? sum[blockIdx.x - 1] : 0);
}
static int want(const int *in, int i) {
  int before = 0;
  for (int k = 0; k < (i & ~31); ++k) before += in[k];
  return in[i] + before;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *sum;
  CK(cudaMalloc(&sum, 4 * sizeof *sum));
  CK(cudaMemset(sum, 0, 4 * sizeof *sum));
  const int *c_in = in;
  void *args[] = {&c_in, &sum, &out};
  CK(cudaLaunchCooperativeKernel((const void *)offsets, dim3(4), dim3(32), args, 0, 0));
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
