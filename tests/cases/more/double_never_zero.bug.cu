// case: double_never_zero
// rule: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=1
// why: ten times 0.1 taken from 1.0 leaves a rest, so the value goes past zero without being it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void drain(const int *in, int *out) {
  int t = threadIdx.x, n = 0;
  double level = in[t] > 0 ? 1.0 : 0.0, sip = 0.1;
  do {
    level -= sip;
    ++n;
  } while (level != 0.0);  //~ non-terminating-loop
  out[t] = n;
}
static int want(const int *, int) { return 10; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  drain<<<1, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
