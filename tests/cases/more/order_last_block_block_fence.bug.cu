// case: order_last_block_block_fence
// rule: scope-too-narrow
// also: missing-release, global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=64 grid=5
// why: the fence before the counter has block scope, but the block that comes last reads the results of the others
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void largest(const int *in, int *best, int *out, unsigned *done) {
  __shared__ int s[64];
  __shared__ unsigned rank;
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  for (int d = 32; d; d >>= 1) {
    __syncthreads();
    if (t < d && s[t + d] > s[t]) s[t] = s[t + d];
  }
  if (t == 0) {
    best[blockIdx.x] = s[0];  //~| what the last block reads
    __threadfence_block();  //~ scope-too-narrow
    rank = atomicAdd(done, 1u);  //~| the counter
  }
  __syncthreads();
  if (rank + 1 == gridDim.x && t == 0) {
    __threadfence();
    int m = 0;
    for (int b = 0; b < gridDim.x; ++b) m = best[b] > m ? best[b] : m;
    *out = m;
  }
}
static int want(const int *in, int i) { int m = 0; for (int k = 0; k < 320; ++k) m = in[k] > m ? in[k] : m; return m; }
int main() {
  static int h_in[320], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 320; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *best;
  CK(cudaMalloc(&best, 5 * sizeof *best));
  CK(cudaMemset(best, 0, 5 * sizeof *best));
  unsigned *done;
  CK(cudaMalloc(&done, 1 * sizeof *done));
  CK(cudaMemset(done, 0, 1 * sizeof *done));
  largest<<<5, 64>>>(in, best, out, done);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
