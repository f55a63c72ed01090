// case: memory_freed_in_stream
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=64 grid=1
// why: the stream frees it behind the kernel
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fill(int *out) {
  out[threadIdx.x] = threadIdx.x;
}
int main() {
  const int n = 64;
  static int h_out[n];
  int *out, *kept, bad = 0;
  cudaStream_t stream;
  CK(cudaStreamCreate(&stream));
  CK(cudaMalloc(&kept, sizeof h_out));
  CK(cudaMallocAsync(&out, sizeof h_out, stream));
  fill<<<1, n, 0, stream>>>(kept);
  fill<<<1, n, 0, stream>>>(out);
  CK(cudaFreeAsync(out, stream));
  CK(cudaGetLastError());
  CK(cudaStreamSynchronize(stream));
  CK(cudaMemcpy(h_out, kept, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != i;
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(kept));
  CK(cudaStreamDestroy(stream));
  return bad ? 2 : 0;
}
