// case: returned_by_helper
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=96 grid=2
// why: the function computes it from the block's width and a parameter
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ int rounds(int base) { return base + (blockDim.x >> 5); }
__global__ void spread(const int *in, int *out, int base) {
  __shared__ int s[96];
  int t = threadIdx.x, i = blockIdx.x * 96 + t, n = rounds(base), v = in[i];
  for (int r = 0; r < n; ++r) {
    s[t] = v;
    __syncthreads();
    v = s[t ^ 16] + 1;
    __syncthreads();
  }
  out[i] = v;
}
static int want(const int *in, int i) { return in[i] + 4; }
int main() {
  static int h_in[192], h_out[192];
  int *in, *out, bad = 0;
  for (int i = 0; i < 192; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  spread<<<2, 96>>>(in, out, 1);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 192; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 192, bad);
  return bad ? 2 : 0;
}
