// case: reduce_where_positive
// rule: warp-mask
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: lanes below the limit do not execute the reduction whose mask names them
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ int above(int v, int limit) { return v > limit; }
__global__ void sum_above(const int *in, int *out, int limit) {
  int t = threadIdx.x, v = in[t], r = -1;
  if (above(v, limit))  //~| depends on the lane's value
    r = __reduce_add_sync(0xffffffffu, v);  //~ warp-mask
  out[t] = r;
}
static int want(const int *in, int i) {
  int sum = 0;
  for (int k = i & ~31; k < (i & ~31) + 32; ++k) sum += in[k] > 300 ? in[k] : 0;
  return in[i] > 300 ? sum : -1;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  sum_above<<<1, 128>>>(in, out, 300);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
