// case: id_shifted_in_loop
// rule: barrier-count
// also: wait-cycle
// h200: hangs
// where: dynamic
// nvidia: hangs
// launch: block=128 grid=1
// doubt: an even number of rounds completes, so the code alone does not decide it; `check --param 2=5` does
// why: the consumer counts its stages from one, so it waits on barrier 2 while the producer arrives on barrier 1
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ void bar_sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }  //~| the waiting operation
__device__ __forceinline__ void bar_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void staged(const int *in, int *out, int rounds) {
  __shared__ int buf[2][64];
  int t = threadIdx.x, u = t & 63;
  if (t < 64) {
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
      if (r >= 2) bar_sync(3 + (r & 1), 128);
      buf[r & 1][u] = in[r * 64 + u];
      bar_arrive(1 + (r & 1), 128);  //~| arrives on 1, 2, 1, 2
    }
  } else {
    int acc = 0;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
      int stage = (r + 1) & 1;
      bar_sync(1 + stage, 128);  //~ barrier-count
      acc = acc * 3 + buf[stage][63 - u];
      if (r + 2 < rounds) bar_arrive(3 + stage, 128);
    }
    out[u] = acc;
  }
}
static int want(const int *in, int i) {
  int acc = 0;
  for (int r = 0; r < 5; ++r) acc = acc * 3 + in[r * 64 + 63 - i];
  return acc;
}
int main() {
  static int h_in[512], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  staged<<<1, 128>>>(in, out, 5);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
