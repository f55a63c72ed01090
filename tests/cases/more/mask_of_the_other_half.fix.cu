// case: mask_of_the_other_half
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=32 grid=2
// why: each half names itself
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void swap_quads(const int *in, int *out) {
  int t = threadIdx.x, gid = blockIdx.x * 32 + t, v = in[gid];
  if (t >= 16) {
    v = __shfl_xor_sync(0xffff0000u, v, 4);
  } else {
    v = __shfl_xor_sync(0x0000ffffu, v, 2);
  }
  out[gid] = v;
}
static int want(const int *in, int i) { return in[i % 32 >= 16 ? i ^ 4 : i ^ 2]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  swap_quads<<<2, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
