// case: filter_returns_cg
// rule: early-exit-barrier
// also: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=2
// why: threads whose input is odd return before the block barrier that the others use
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void evens(const int *in, int *out) {
  __shared__ int s[128];
  auto block = cooperative_groups::this_thread_block();
  int t = threadIdx.x, gid = blockIdx.x * 128 + t, v = in[gid];
  s[t] = 0;
  block.sync();
  if (v & 1) {  //~| odd elements leave
    out[gid] = -1;
    return;
  }
  s[t] = v;
  block.sync();  //~ early-exit-barrier
  out[gid] = s[127 - t];
}
static int want(const int *in, int i) {
  int other = in[(i & 128) + 127 - (i & 127)];
  return in[i] & 1 ? -1 : other & 1 ? 0 : other;
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  evens<<<2, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
