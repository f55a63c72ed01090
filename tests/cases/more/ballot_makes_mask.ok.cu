// case: ballot_makes_mask
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=96 grid=1
// why: the mask of the operations in the branch is the ballot of the branch's own condition
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void rank_large(const int *in, int *out) {
  int t = threadIdx.x, lane = t & 31, v = in[t], r = -1;
  bool large = v > 400;
  unsigned mask = __ballot_sync(0xffffffffu, large);
  if (large) {
    int below = __popc(mask & ((1u << lane) - 1));
    int total = __reduce_add_sync(mask, v);
    __syncwarp(mask);
    r = total * 32 + below;
  }
  out[t] = r;
}
static int want(const int *in, int i) {
  if (in[i] <= 400) return -1;
  int total = 0, below = 0;
  for (int k = i & ~31; k < (i & ~31) + 32; ++k)
    if (in[k] > 400) total += in[k], below += k < i;
  return total * 32 + below;
}
int main() {
  static int h_in[96], h_out[96];
  int *in, *out, bad = 0;
  for (int i = 0; i < 96; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  rank_large<<<1, 96>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 96; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 96, bad);
  return bad ? 2 : 0;
}
