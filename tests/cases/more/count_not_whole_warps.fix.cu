// case: count_not_whole_warps
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: the count is rounded up to whole warps
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void meet_n(const int *in, int *out) {
  __shared__ int s[128];
  const int n = 120;
  int t = threadIdx.x;
  if (t < 128) {
    s[t] = t < n ? in[t] * 2 : 0;
    asm volatile("bar.sync 3, %0;" ::"r"((n + 31) & ~31) : "memory");
    out[t] = s[127 - t];
  }
}
static int want(const int *in, int i) { return i >= 8 ? in[127 - i] * 2 : 0; }
int main() {
  static int h_in[256], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  meet_n<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
