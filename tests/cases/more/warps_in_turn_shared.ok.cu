// case: warps_in_turn_shared
// rule: none
// where: both
// nvidia: completes
// launch: block=128 grid=2
// why: the warps of each block take turns by a word in their own shared memory
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void in_turn(const int *in, int *out) {
  __shared__ volatile int turn;
  __shared__ int sum;
  int t = threadIdx.x, w = t / 32;
  if (t == 0) {
    turn = 0;
    sum = 0;
  }
  __syncthreads();
  if (t % 32 == 0) {
    while (turn != w) {}
    __threadfence_block();
    sum += in[t];
    out[128 * blockIdx.x + w] = sum;
    __threadfence_block();
    turn = w + 1;
  }
  __syncthreads();
  if (t >= 4) out[128 * blockIdx.x + t] = in[t];
}
static int want(const int *in, int i) { int s = 0, k = i % 128; if (k >= 4) return in[k]; for (int w = 0; w <= k; ++w) s += in[32 * w]; return s; }
int main() {
  const int n = 256;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  in_turn<<<2, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
