// case: loops_until_it_stays
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=1
// why: the iteration ends when the value no longer changes
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void root(const int *in, int *out, int *aux) {
  float a = (float)in[threadIdx.x], x = a + 1.0f, last;
  do {
    last = x;
    x = 0.5f * (x + a / x);
  } while (x < last);
  int r = (int)(last + 0.5f);
  out[threadIdx.x] = r * r > in[threadIdx.x] + r ? r - 1 : r;
}
static int want(const int *in, int i) { int r = 0; while (r * r + r < in[i]) ++r; return r; }
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
  root<<<1, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
