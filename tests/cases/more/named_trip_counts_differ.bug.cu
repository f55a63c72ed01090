// case: named_trip_counts_differ
// rule: barrier-count
// also: divergent-barrier
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=64 grid=1
// why: warp 0 meets warp 1 at the named barrier once more than warp 1 does
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void tandem(const int *in, int *out, int rounds) {
  __shared__ int s[64];
  int t = threadIdx.x, v = in[t];
  int mine = t < 32 ? rounds + 1 : rounds;  //~| one round more for warp 0
#pragma unroll 1
  for (int r = 0; r < mine; ++r) {
    s[t] = v;
    asm volatile("bar.sync 1, 64;" ::: "memory");  //~ barrier-count
    int w = s[t ^ 32];
    asm volatile("bar.sync 2, 64;" ::: "memory");  //~| second barrier of the round
    v += w;
  }
  out[t] = v;
}
static int want(const int *in, int i) {
  int a = in[i], b = in[i ^ 32];
  for (int r = 0; r < 3; ++r) { int x = a; a += b; b += x; }
  return a;
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  tandem<<<1, 64>>>(in, out, 3);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
