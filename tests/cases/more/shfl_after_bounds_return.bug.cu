// case: shfl_after_bounds_return
// rule: warp-mask
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=256 grid=4
// why: in block 3 the lanes with gid >= 1000 have returned, but the mask of the shuffle names all 32 lanes
// doubt: lanes that have exited are dropped by cards since Volta, the guide still asks that all named lanes execute the operation
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sum_all(const int *in, int *out, int n) {
  int gid = blockIdx.x * blockDim.x + threadIdx.x;
  if (gid >= n) return;  //~| part of a warp leaves
  int v = in[gid];
#pragma unroll
  for (int o = 16; o > 0; o /= 2)
    v += __shfl_down_sync(0xffffffffu, v, o);  //~ warp-mask
  if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}
static int want(const int *in, int) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += in[i];
  return sum;
}
int main() {
  static int h_in[1000], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1000; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  sum_all<<<4, 256>>>(in, out, 1000);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
