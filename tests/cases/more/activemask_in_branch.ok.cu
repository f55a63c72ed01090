// case: activemask_in_branch
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the mask is the one of the lanes that are there, whichever they are, and the result does not depend on the grouping
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count_odd(const int *in, int *out) {
  if (in[threadIdx.x] & 1) {
    unsigned here = __activemask();
    int leader = __ffs(here) - 1, lane = threadIdx.x & 31;
    int n = __popc(here);
    n = __shfl_sync(here, n, leader);
    if (lane == leader) atomicAdd(out, n);
  }
}
static int want(const int *in, int) {
  int n = 0;
  for (int k = 0; k < 64; ++k) n += in[k] & 1;
  return n;
}
int main() {
  static int h_in[64], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  count_odd<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
