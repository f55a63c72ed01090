// case: through_local_array
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=1
// why: the condition is read back from a local array that holds values of the thread
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sift(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, digits[8], v = in[t];
#pragma unroll 1
  for (int d = 0, x = v; d < 8; ++d, x >>= 2) digits[d] = x & 3;
  s[t] = v;
  if (digits[v & 7] > 1) {  //~| private memory of the thread
    __syncthreads();  //~ divergent-barrier
    v = s[63 - t];
  }
  out[t] = v;
}
static int want(const int *in, int i) { return (in[i] >> (in[i] & 7) * 2 & 3) > 1 ? in[63 - i] : in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  sift<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
