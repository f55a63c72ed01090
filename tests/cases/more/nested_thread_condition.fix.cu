// case: nested_thread_condition
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=256 grid=2
// why: the barrier stands in the outer condition, which depends on parameters only
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void smooth(const int *in, int *out, int passes, int columns) {
  __shared__ int row[256];
  int t = threadIdx.x, gid = blockIdx.x * blockDim.x + t, v = in[gid];
  row[t] = v;
  __syncthreads();
  for (int p = 0; p < passes; ++p) {
    if (passes > 1) {
      int next = row[t < columns - 1 ? t + 1 : t];
      __syncthreads();
      if (t < columns) {
        v = v / 2 + next / 2;
        row[t] = v;
      }
    }
    __syncthreads();
  }
  out[gid] = v;
}
static int want(const int *in, int i) {
  int b = i & ~255, row[256];
  for (int k = 0; k < 256; ++k) row[k] = in[b + k];
  for (int p = 0; p < 3; ++p)
    for (int k = 0; k < 200; ++k) row[k] = row[k] / 2 + row[k < 199 ? k + 1 : k] / 2;
  return row[i & 255];
}
int main() {
  static int h_in[512], h_out[512];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  smooth<<<2, 256>>>(in, out, 3, 200);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 512; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 512, bad);
  return bad ? 2 : 0;
}
