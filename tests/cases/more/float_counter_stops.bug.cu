// case: float_counter_stops
// rule: non-terminating-loop
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=64 grid=1
// why: a float that counts by ones stops at 16777216 and never passes twenty million
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count(const int *in, int *out) {
  int s = 0;
  for (float i = 0; i < 20000000.0f; i += 1.0f)  //~ non-terminating-loop
    if (((int)i & 0xfffff) == 0) s += in[threadIdx.x];
  out[threadIdx.x] = s;
}
static int want(const int *in, int i) { return in[i] * 20; }
int main() {
  const int n = 64, m = 64;
  static int h_in[n], h_out[m];
  int *in, *out, *box, bad = 0;
  unsigned *aux;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&box, sizeof h_in));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(box, 0, sizeof h_in));
  CK(cudaMemset(aux, 0, 4096));
  count<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
