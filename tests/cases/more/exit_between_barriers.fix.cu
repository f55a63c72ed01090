// case: exit_between_barriers
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: the threads return after the second barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void two_steps(const int *in, int *out) {
  __shared__ int s[256], u[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 64) u[t] = s[t] + s[t + 64] + s[t + 128] + s[t + 192];
  __syncthreads();
  if (t >= 64) return;
  out[t] = u[63 - t];
}
static int want(const int *in, int i) {
  int k = 63 - i;
  return in[k] + in[k + 64] + in[k + 128] + in[k + 192];
}
int main() {
  static int h_in[256], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  two_steps<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
