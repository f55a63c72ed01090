// case: unsigned_counts_below_zero
// rule: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=1
// why: an unsigned counter is never below zero, so the downward loop has no end
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void backwards(const int *in, volatile int *out, unsigned n) {
  int t = threadIdx.x, acc = 0;
  for (unsigned i = n - 1; i >= 0; --i) {  //~ non-terminating-loop
    acc = acc * 5 + in[(i + t) & 63];
    out[t] = acc;
  }
}
static int want(const int *in, int t) {
  unsigned acc = 0;
  for (int i = 19; i >= 0; --i) acc = acc * 5 + in[(i + t) & 63];
  return (int)acc;
}
int main() {
  static int h_in[64], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  backwards<<<1, 32>>>(in, out, 20);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
