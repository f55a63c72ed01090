// case: break_before_barrier
// rule: divergent-barrier
// h200: exit 2
// where: static
// nvidia: wrong-result
// launch: block=64 grid=1
// why: a thread leaves the loop when it has found its key, the others go on to the barrier without it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void find(const int *in, int *out) {
  __shared__ int window[64];
  int t = threadIdx.x, key = in[t] % 16, at = -1;
#pragma unroll 1
  for (int round = 0; round < 16; ++round) {
    if (at >= 0) break;  //~| leaves the loop thread by thread
    window[t] = (t + round) & 15;
    __syncthreads();  //~ divergent-barrier
    if (window[t ^ 1] == key) at = round;
    __syncthreads();  //~ divergent-barrier
  }
  out[t] = at;
}
static int want(const int *in, int i) { return (in[i] % 16 - (i ^ 1)) & 15; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  find<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
