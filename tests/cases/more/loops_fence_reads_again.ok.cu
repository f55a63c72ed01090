// case: loops_fence_reads_again
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: a fence in the loop makes the compiler read the plain word again
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void listen(const int *in, int *out, int *aux) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    out[t] = in[t];
    __syncthreads();
    __threadfence();
    if (t == 0) atomicExch(aux, 1);
  } else {
    if (t == 0)
      while (*(volatile int *)aux == 0) __threadfence();
    __syncthreads();
    out[32 + t] = in[32 + t];
  }
}
static int want(const int *in, int i) { return in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, *aux, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(aux, 0, 4096));
  listen<<<2, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
