// case: forever_with_break
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the loop has no condition of its own, each thread leaves it from the middle, and the barrier comes after it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void digits(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, v = in[t], n = 0;
  for (;;) {
    if (v == 0) break;
    v /= 10;
    if (++n > 20) break;
  }
  s[t] = n;
  __syncthreads();
  out[t] = s[63 - t];
}
static int want(const int *in, int i) {
  int v = in[63 - i], n = 0;
  for (; v; v /= 10) ++n;
  return n;
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  digits<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
