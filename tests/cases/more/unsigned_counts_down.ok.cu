// case: unsigned_counts_down
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=1
// why: the unsigned counter is tested before it is lowered, the other loop runs until it wraps below its start, and both end
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void backwards(const int *in, int *out, unsigned n) {
  unsigned t = threadIdx.x, acc = 0;
  for (unsigned i = n; i-- > 0;) acc = acc * 3 + in[(i + t) & 63];
  for (unsigned i = n - 1; i < n; --i) acc ^= i * in[i & 63];
  unsigned k = n;
  do acc += k; while (--k != 0);
  out[t] = (int)acc;
}
static int want(const int *in, int t) {
  unsigned acc = 0;
  for (int i = 29; i >= 0; --i) acc = acc * 3 + in[(i + t) & 63];
  for (int i = 29; i >= 0; --i) acc ^= (unsigned)i * in[i];
  for (int k = 30; k > 0; --k) acc += k;
  return (int)acc;
}
int main() {
  static int h_in[64], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  backwards<<<1, 32>>>(in, out, 30);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
