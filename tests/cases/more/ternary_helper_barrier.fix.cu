// case: ternary_helper_barrier
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=192 grid=1
// why: every thread calls the helper, the conditional operator only chooses between two values
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ int exchange(int *s, int v) {
  s[threadIdx.x] = v;
  __syncthreads();
  return s[191 - threadIdx.x];
}
__global__ void mirror_even(const int *in, int *out) {
  __shared__ int s[192];
  int t = threadIdx.x, v = in[t];
  s[t] = -1;
  __syncthreads();
  int m = exchange(s, (v & 1) == 0 ? v : -1);
  int r = (v & 1) == 0 ? m : v;
  out[t] = r;
}
static int want(const int *in, int i) {
  int other = in[191 - i];
  return in[i] & 1 ? in[i] : other & 1 ? -1 : other;
}
int main() {
  static int h_in[192], h_out[192];
  int *in, *out, bad = 0;
  for (int i = 0; i < 192; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  mirror_even<<<1, 192>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 192; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 192, bad);
  return bad ? 2 : 0;
}
