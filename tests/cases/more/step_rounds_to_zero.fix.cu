// case: step_rounds_to_zero
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: the stride is at least one
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void strided(const int *in, volatile int *out, int n) {
  int t = threadIdx.x, stride = (blockDim.x + 255) / 256, acc = 0;
  for (int i = t; i < n; i += stride) {
    acc += in[i];
    out[t] = acc;
  }
}
static int want(const int *in, int t) {
  int acc = 0;
  for (int i = t; i < 128; ++i) acc += in[i];
  return acc;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  strided<<<1, 128>>>(in, out, 128);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
