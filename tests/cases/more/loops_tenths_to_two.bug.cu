// case: loops_tenths_to_two
// rule: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=1
// why: twenty steps of 0.1f give 2.0000002, so that the end is passed by
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sweep(const int *in, volatile int *out, int *aux) {
  int n = 0;
#pragma unroll 1
  for (float x = 0.0f; x != 2.0f; x += 0.1f) {  //~ non-terminating-loop
    n += in[(n + threadIdx.x) & 31];
    out[threadIdx.x] = n;
  }
}
static int want(const int *in, int i) { int n = 0; for (int k = 0; k < 20; ++k) n += in[(n + i) & 31]; return n; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, *aux, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(aux, 0, 4096));
  sweep<<<1, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
