// case: row_of_full_warps
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32x8 grid=1
// why: with 32 threads in a row the condition on threadIdx.y is the same for each warp, so the full mask is right
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ int row_total(int v) {
#pragma unroll 1
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__global__ void odd_rows(const int *in, int *out) {
  int i = threadIdx.y * 32 + threadIdx.x, v = in[i];
  if (threadIdx.y & 1) {
    v = row_total(v);
    __syncwarp();
  } else if (threadIdx.y > 4) {
    v = __any_sync(0xffffffffu, v > 1000);
  }
  out[i] = v;
}
static int want(const int *in, int i) {
  int y = i / 32, s = 0, any = 0;
  for (int k = y * 32; k < y * 32 + 32; ++k) s += in[k], any |= in[k] > 1000;
  return y & 1 ? s : y > 4 ? any : in[i];
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  odd_rows<<<1, dim3(32, 8)>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
