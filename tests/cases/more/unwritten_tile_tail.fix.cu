// case: unwritten_tile_tail
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=128 grid=2
// why: threads without an element write the least value
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void largest(const int *in, int *out, int n) {
  __shared__ int tile[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  tile[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half && tile[t + half] > tile[t]) tile[t] = tile[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}
int main() {
  const int n = 200;
  static int h_in[n], h_out[2];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  largest<<<2, 128>>>(in, out, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int b = 0; b < 2; ++b) {
    int want = 0;
    for (int i = 128 * b; i < n && i < 128 * b + 128; ++i) want = h_in[i] > want ? h_in[i] : want;
    bad += h_out[b] != want;
  }
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
