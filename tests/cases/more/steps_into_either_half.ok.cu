// case: steps_into_either_half
// rule: none
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: the flag was written in the round before; a store through a selected pointer does not take that back
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
// Block b publishes step[b] and waits for its left neighbour's; what it writes goes to u and w in turn.
__global__ void halo(volatile int *step, int *u, int *w, int n) {
  int b = blockIdx.x, left = b ? b - 1 : 0;
  for (int s = 0; s < n; ++s) {
    if (threadIdx.x == 0) {
      while (step[left] < s) {}
      __threadfence();
    }
    __syncthreads();
    int *y = s & 1 ? u : w;
    y[b * blockDim.x + threadIdx.x] = s + b;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) step[b] = s + 1;
  }
}
static int want(int i) { return 5 + i / 64; }
int main() {
  int bad = 0;
  static int h_out[128];
  int *u, *w, *step;
  CK(cudaMalloc(&u, sizeof h_out));
  CK(cudaMalloc(&w, sizeof h_out));
  CK(cudaMalloc(&step, 2 * sizeof *step));
  CK(cudaMemset(step, 0, 2 * sizeof *step));
  halo<<<2, 64>>>(step, u, w, 6);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, u, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
