// case: last_block_sums_unfenced
// rule: missing-release
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=128 grid=8
// why: each block stores its partial sum and raises the counter without a fence, so the last block may read an old partial sum
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sum_all(const int *in, int *part, int *out, unsigned *count) {
  __shared__ int s[128];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];  //~| the payload
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;  //~ missing-release
    __threadfence();
  }
  __syncthreads();
  if (last && t < 8) atomicAdd(out, part[t]);
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 1024; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[1024], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1024; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *part;
  CK(cudaMalloc(&part, 8 * sizeof *part));
  CK(cudaMemset(part, 0, 8 * sizeof *part));
  unsigned *count;
  CK(cudaMalloc(&count, 1 * sizeof *count));
  CK(cudaMemset(count, 0, 1 * sizeof *count));
  sum_all<<<8, 128>>>(in, part, out, count);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
