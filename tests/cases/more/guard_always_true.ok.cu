// case: guard_always_true
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=256 grid=1
// why: with 256 threads in the block the guards over the thread's index hold for every thread
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void full(const int *in, int *out) {
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  if (t >= blockDim.x) return;
  if (t < 256) {
    s[t] = in[t];
    __syncthreads();
    out[t] = s[255 - t];
  }
  if (t / 32 <= 7) __syncthreads();
}
static int want(const int *in, int i) { return in[255 - i]; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  full<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
