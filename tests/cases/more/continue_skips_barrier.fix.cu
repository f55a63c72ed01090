// case: continue_skips_barrier
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=96 grid=1
// why: the condition guards the addition, not the barriers
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void step(const int *in, int *out) {
  __shared__ int s[96];
  int t = threadIdx.x, v = in[t];
#pragma unroll 1
  for (int i = 0; i < 5; ++i) {
    s[t] = v;
    __syncthreads();
    if (v % 3) v += s[95 - t];
    __syncthreads();
  }
  out[t] = v;
}
static int want(const int *in, int i) {
  int v[96], w[96];
  for (int k = 0; k < 96; ++k) v[k] = in[k];
  for (int r = 0; r < 5; ++r) {
    for (int k = 0; k < 96; ++k) w[k] = v[k] % 3 ? v[k] + v[95 - k] : v[k];
    for (int k = 0; k < 96; ++k) v[k] = w[k];
  }
  return v[i];
}
int main() {
  static int h_in[96], h_out[96];
  int *in, *out, bad = 0;
  for (int i = 0; i < 96; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  step<<<1, 96>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 96; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 96, bad);
  return bad ? 2 : 0;
}
