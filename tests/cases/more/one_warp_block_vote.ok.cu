// case: one_warp_block_vote
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: the block is one warp, so what the warp has voted is the same for the whole block
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void maybe_swap(const int *in, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x, i = blockIdx.x * 32 + t, v = in[i];
  if (__any_sync(0xffffffffu, v > 950)) {
    s[t] = v;
    __syncthreads();
    v = s[31 - t];
  }
  out[i] = v;
}
static int want(const int *in, int i) {
  bool any = false;
  for (int k = i & ~31; k < (i & ~31) + 32; ++k) any |= in[k] > 950;
  return any ? in[(i & ~31) + 31 - (i & 31)] : in[i];
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  maybe_swap<<<4, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
