// case: serving_warps_are_told
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=1
// why: barriers without .aligned count arrivals: in every round each warp comes to one of the same number, and all serving warps are told to go at once
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
// Warps 2 and 3 serve: they wait for an order, do it, and wait again until they are told to go.
__device__ __forceinline__ void meet() { asm volatile("barrier.sync 1;" ::: "memory"); }
__global__ void serve(const int *in, int *out) {
  __shared__ int order[2], doubled[64];
  int t = threadIdx.x;
  if (t >= 64) {
    for (;;) {
      meet();
      int what = order[t / 32 - 2];
      if (what == 2) break;
      if (what == 1) {
        doubled[t - 64] = in[t] + in[t - 64];
        meet();
      } else {
        meet();
      }
    }
  } else {
    if (t < 2) order[t] = 1;
    meet();
    meet();
    out[t] = in[t] + doubled[t];
    if (t < 2) order[t] = 2;
    meet();
  }
}
static int want(const int *in, int i) { return in[i] * 2 + in[64 + i]; }
int main() {
  static int h_in[128], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  serve<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
