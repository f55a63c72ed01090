// case: loops_lock_per_thread
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: each thread has a lock of its own, so no two lanes of a warp meet
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void own(const int *in, volatile int *out, int *aux) {
  int t = threadIdx.x;
  while (atomicCAS(&aux[t], 0, 1) != 0) {}
  __threadfence();
  out[t] = out[t] + in[blockIdx.x * 32 + t];
  __threadfence();
  atomicExch(&aux[t], 0);
}
static int want(const int *in, int i) { return in[i] + in[i + 32]; }
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
  own<<<2, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
