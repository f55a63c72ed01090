// case: last_block_finishes
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=5
// why: one thread finds out whether its block is the last, all read the answer behind a barrier, and the barriers in the branch are met by whole blocks
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sum_all(const int *in, volatile int *part, int *out, unsigned *count) {
  __shared__ int s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  for (int d = 32; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[t] += s[t + d];
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) {
    s[t] = t < gridDim.x ? part[t] : 0;
    for (int d = 32; d > 0; d /= 2) {
      __syncthreads();
      if (t < d) s[t] += s[t + d];
    }
    if (t == 0) *out = s[0];
  }
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 320; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[320], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 320; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *part;
  CK(cudaMalloc(&part, 5 * sizeof *part));
  CK(cudaMemset(part, 0, 5 * sizeof *part));
  unsigned *count;
  CK(cudaMalloc(&count, 1 * sizeof *count));
  CK(cudaMemset(count, 0, 1 * sizeof *count));
  sum_all<<<5, 64>>>(in, part, out, count);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
