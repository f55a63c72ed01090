// case: float_fixpoint_bounded
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the loop ends when the value no longer changes and in any case after twenty rounds
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void root(const int *in, int *out) {
  int t = threadIdx.x;
  float a = (float)in[t], x = a, last = 0.0f;
  for (int i = 0; i < 20 && x != last; ++i) {
    last = x;
    x = 0.5f * (x + a / x);
  }
  int r = (int)(x + 0.5f);
  out[t] = r * r > in[t] + r ? r - 1 : r;
}
static int want(const int *in, int i) {
  int r = 0;
  while (r * r + r < in[i]) ++r;
  return r * r > in[i] + r ? r - 1 : r;
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  root<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
