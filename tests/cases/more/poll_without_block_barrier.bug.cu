// case: poll_without_block_barrier
// rule: missing-acquire
// also: global-race
// where: dynamic
// nvidia: wrong-result
// launch: block=64 grid=2
// why: thread 0 of the second block waits for the flag and acquires; no barrier keeps its other 63 threads behind that, so they read a payload that nothing orders
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void hand_over(const int *in, int *payload, int *out, volatile int *flag) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    payload[t] = in[t] * 3;  //~| payload
    __syncthreads();
    if (t == 0) {
      __threadfence();
      *flag = 1;
    }
  } else {
    if (t == 0) {
      while (*flag == 0) {}  //~ missing-acquire
      __threadfence();
    }
    out[t] = payload[t] + 1;  //~| read that nothing orders
  }
}
int main() {
  const int n = 64;
  int h_in[n], h_out[n], *in, *payload, *out, *flag, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 29 + 5) % 101 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&payload, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&flag, sizeof *flag));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(payload, 0, sizeof h_in));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(flag, 0, sizeof *flag));
  hand_over<<<2, n>>>(in, payload, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != h_in[i] * 3 + 1;
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
