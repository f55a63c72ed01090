// case: lane_waits_behind_syncwarp
// rule: wait-cycle
// also: warp-mask
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=1
// why: lane 0 spins for a word that lane 1 writes behind the warp barrier, where it waits for lane 0
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void duo(const int *in, int *out) {
  __shared__ volatile int word;
  int t = threadIdx.x, v = in[t];
  if (t == 0) word = 0;
  __syncwarp();
  if (t == 0) {
    while (word == 0) {}  //~ wait-cycle
    v = word;
  }
  __syncwarp();  //~| lane 1 waits here for lane 0
  if (t == 1) word = v;  //~| the write behind the warp barrier
  out[t] = v;
}
static int want(const int *in, int i) { return i == 0 ? in[1] : in[i]; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  duo<<<1, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
