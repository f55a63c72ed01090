// case: uniform_shuffle_condition
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the condition comes from lane 0 by a shuffle, so a whole warp enters the branch with its full mask, and the block barrier stays outside
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void by_first_lane(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, v = in[t];
  int first = __shfl_sync(0xffffffffu, v, 0);
  if (first & 4) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    if (__all_sync(0xffffffffu, v > 20)) v -= __shfl_sync(0xffffffffu, v, 31);
  }
  s[t] = v;
  __syncthreads();
  out[t] = s[63 - t];
}
static int one(const int *in, int i) {
  int b = i & ~31, all = 1;
  if (!(in[b] & 4)) return in[i];
  for (int k = b; k < b + 32; ++k) all &= in[k] + in[k ^ 1] > 20;
  return in[i] + in[i ^ 1] - (all ? in[b + 31] + in[b + 30] : 0);
}
static int want(const int *in, int i) { return one(in, 63 - i); }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  by_first_lane<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
