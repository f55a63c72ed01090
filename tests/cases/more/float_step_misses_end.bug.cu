// case: float_step_misses_end
// rule: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=1
// why: the loop ends only when x equals the end exactly, and steps of 0.1f pass 2.0f by
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void integrate(const int *in, int *out, float from, float to, float step) {
  int t = threadIdx.x, acc = 0, k = 0;
  for (float x = from; x != to; x += step)  //~ non-terminating-loop
    acc += in[(k++ + t) & 63] * (x < 1.0f ? 1 : 2);
  out[t] = acc;
}
static int want(const int *in, int t) {
  int acc = 0;
  float x = 0.0f;
  for (int k = 0; k < 20; ++k) {
    acc += in[(k + t) & 63] * (x < 1.0f ? 1 : 2);
    x += 0.1f;
  }
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
  integrate<<<1, 32>>>(in, out, 0.0f, 2.0f, 0.1f);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
