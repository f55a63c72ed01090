// case: any_in_else_arm
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=32x2 grid=1
// why: the vote is taken before the conditional
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void flag_row(const int *in, int *out) {
  int x = threadIdx.x, i = threadIdx.y * 32 + x, v = in[i], r;
  int any = __any_sync(0xffffffffu, v > 960);
  if (x % 4 == 3) {
    r = -v;
  } else {
    r = any ? v : 0;
  }
  out[i] = r;
}
static int want(const int *in, int i) {
  bool any = false;
  for (int k = i & ~31; k < (i & ~31) + 32; ++k) any |= in[k] > 960;
  return i % 4 == 3 ? -in[i] : any ? in[i] : 0;
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  flag_row<<<1, dim3(32, 2)>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
