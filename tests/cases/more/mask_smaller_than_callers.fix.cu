// case: mask_smaller_than_callers
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=1
// why: the mask names the sixteen lanes that execute it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void broadcast_low(const int *in, int *out) {
  int t = threadIdx.x, lane = t & 31, v = in[t];
  if (lane < 16)
    v = __shfl_sync(0x0000ffffu, v, 5);
  out[t] = v;
}
static int want(const int *in, int i) { return i % 32 < 16 ? in[(i & ~31) + 5] : in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  broadcast_low<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
