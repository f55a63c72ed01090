// case: shared_value_decides
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: each thread reads its own element of a shared array and takes part in the barrier or not
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ void meet() {
  __syncthreads();  //~ divergent-barrier
}
__global__ void by_mask(const int *in, int *out) {
  __shared__ int keep[256], s[256];
  int t = threadIdx.x, v = in[t];
  keep[t] = v & 4;
  s[t] = v;
  __syncthreads();
  if (keep[255 - t]) {  //~| one element per thread
    meet();  //~| call
    v = s[t ^ 3];
  }
  out[t] = v;
}
static int want(const int *in, int i) { return in[255 - i] & 4 ? in[i ^ 3] : in[i]; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  by_mask<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
