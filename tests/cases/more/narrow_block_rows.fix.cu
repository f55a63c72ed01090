// case: narrow_block_rows
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=8x8 grid=1
// why: the mask names the columns that take part, in all four rows of the warp
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void left_half(const int *in, int *out) {
  int x = threadIdx.x, i = threadIdx.y * blockDim.x + x, v = in[i];
  if (x < 4) {
    v += __shfl_xor_sync(0x0f0f0f0fu, v, 1);
  }
  out[i] = v;
}
static int want(const int *in, int i) { return i % 8 < 4 ? in[i] + in[i ^ 1] : in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  left_half<<<1, dim3(8, 8)>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
