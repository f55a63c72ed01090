// case: own_flag_into_either_half
// rule: wait-cycle
// where: both
// nvidia: hangs
// launch: block=64 grid=2
// why: both blocks wait for the flag that they set only behind the wait
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void publish(volatile int *flag, float *a, float *b, int k) {
  int t = threadIdx.x;
  if (t == 0) {
    while (*flag != 1) {}  //~ wait-cycle
    __threadfence();
  }
  __syncthreads();
  float *y = k & 1 ? a : b;
  y[blockIdx.x * 64 + t] = t * 0.5f;
  __threadfence();
  __syncthreads();
  if (t == 0) *flag = 1;  //~| behind the wait for it
}
static float want(int i) { return i % 64 * 0.5f; }
int main() {
  int bad = 0;
  static float h_out[128];
  float *a, *b;
  int *flag;
  CK(cudaMalloc(&a, sizeof h_out));
  CK(cudaMalloc(&b, sizeof h_out));
  CK(cudaMalloc(&flag, sizeof *flag));
  CK(cudaMemset(flag, 0, sizeof *flag));
  publish<<<2, 64>>>(flag, a, b, 1);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, a, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
