// case: goto_over_barrier
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: the jump only skips the doubling, not the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void hop(const int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x, v = in[t];
  s[t] = v;
  if (t & 1) goto skip;
  s[t] = v * 2;
skip:
  __syncthreads();
  if (!(t & 1)) v += s[(t + 2) & 255];
  out[t] = v;
}
static int want(const int *in, int i) { return i & 1 ? in[i] : in[i] + in[(i + 2) & 255] * 2; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  hop<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
