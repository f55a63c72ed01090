// case: exact_float_steps
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=1
// why: steps of one quarter are exact in single precision, so the loop meets its end exactly
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void ramp(const int *in, int *out) {
  int t = threadIdx.x, acc = 0, k = 0;
#pragma unroll 1
  for (float x = 0.0f; x != 8.0f; x += 0.25f) acc += in[(t + k++) & 63] * (x < 4.0f ? 1 : 3);
  out[t] = acc;
}
static int want(const int *in, int t) {
  int acc = 0;
  for (int k = 0; k < 32; ++k) acc += in[(t + k) & 63] * (k < 16 ? 1 : 3);
  return acc;
}
int main() {
  static int h_in[64], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  ramp<<<1, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
