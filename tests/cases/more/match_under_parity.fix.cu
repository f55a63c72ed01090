// case: match_under_parity
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: all lanes take part in the match, the odd ones use its result
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void twins(const int *in, int *out) {
  __shared__ unsigned twin[64];
  int t = threadIdx.x, v = in[t] % 5;
  unsigned m = 0;
  unsigned all = __match_any_sync(0xffffffffu, v);
  if (t & 1) m = all;
  twin[t] = m;
  __syncthreads();
  out[t] = (int)twin[63 - t];
}
static int want(const int *in, int i) {
  int t = 63 - i;
  unsigned m = 0;
  for (int k = t & ~31; k < (t & ~31) + 32; ++k)
    if (in[k] % 5 == in[t] % 5) m |= 1u << (k & 31);
  return t & 1 ? (int)m : 0;
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  twins<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
