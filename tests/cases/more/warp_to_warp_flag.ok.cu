// case: warp_to_warp_flag
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=96 grid=1
// why: two warps wait for a third by a volatile shared flag, the third never waits for them, and all meet at a barrier afterwards
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void leader_warp(const int *in, int *out) {
  __shared__ volatile int ready;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 95) ready = 0;
  __syncthreads();
  if (t >= 64) {
    s[t - 64] = in[t] * 3;
    __syncwarp();
    if (t == 64) {
      __threadfence_block();
      ready = 1;
    }
  } else {
    while (!ready) {}
    __threadfence_block();
  }
  int v = t < 64 ? s[t & 31] : in[t];
  __syncthreads();
  out[t] = v;
}
static int want(const int *in, int i) { return i < 64 ? in[64 + (i & 31)] * 3 : in[i]; }
int main() {
  static int h_in[96], h_out[96];
  int *in, *out, bad = 0;
  for (int i = 0; i < 96; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  leader_warp<<<1, 96>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 96; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 96, bad);
  return bad ? 2 : 0;
}
