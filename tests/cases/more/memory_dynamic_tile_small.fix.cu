// case: memory_dynamic_tile_small
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=256 grid=1
// why: the launch asks for n ints
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void reverse(const int *in, int *out) {
  extern __shared__ int tile[];
  int t = threadIdx.x;
  tile[t] = in[t];
  __syncthreads();
  out[t] = tile[blockDim.x - 1 - t];
}
int main() {
  const int n = 256;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  reverse<<<1, n, n * sizeof(int)>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != h_in[n - 1 - i];
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
