// case: two_blocks_two_pointers
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: block 0 raises a before it polls b
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ void wait_for(const int *p) {
  while (*(const volatile int *)p == 0) {}
  __threadfence();
}
__device__ __noinline__ void raise(int *p) {
  __threadfence();
  *(volatile int *)p = 1;
}
__global__ void meet(const int *in, int *tmp, int *out, int *a, int *b) {
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  tmp[i] = in[i] + 3;
  __syncthreads();
  if (t == 0) {
    if (blockIdx.x == 0) {
      raise(a);
      wait_for(b);
    } else {
      wait_for(a);
      raise(b);
    }
  }
  __syncthreads();
  out[i] = tmp[i ^ 32];
}
static int want(const int *in, int i) { return in[i ^ 32] + 3; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *tmp;
  CK(cudaMalloc(&tmp, 64 * sizeof *tmp));
  CK(cudaMemset(tmp, 0, 64 * sizeof *tmp));
  int *a;
  CK(cudaMalloc(&a, 1 * sizeof *a));
  CK(cudaMemset(a, 0, 1 * sizeof *a));
  int *b;
  CK(cudaMalloc(&b, 1 * sizeof *b));
  CK(cudaMemset(b, 0, 1 * sizeof *b));
  meet<<<2, 32>>>(in, tmp, out, a, b);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
