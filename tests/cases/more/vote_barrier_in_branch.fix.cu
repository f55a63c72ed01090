// case: vote_barrier_in_branch
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: all threads take part in the counting barrier, the lower half with a zero
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count_large(const int *in, int *out) {
  int t = threadIdx.x, v = in[t], n = -1;
  int all = __syncthreads_count(t >= 128 && v > 500);
  if (t >= 128) n = all;
  out[t] = n;
}
static int want(const int *in, int i) {
  int n = 0;
  for (int k = 128; k < 256; ++k) n += in[k] > 500;
  return i < 128 ? -1 : n;
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  count_large<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
