// case: loops_lock_bit
// rule: spin-lock-lockstep
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: one bit of a word is the lock, set by every lane with an atomic or
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void tally(const int *in, volatile int *out, int *aux) {
  int v = in[blockIdx.x * 32 + threadIdx.x];
  while (atomicOr(aux, 4) & 4) {}  //~ spin-lock-lockstep
  __threadfence();
  *out = *out + v;
  __threadfence();
  atomicAnd(aux, ~4);  //~| the release
}
static int want(const int *in, int) { int s = 0; for (int k = 0; k < 64; ++k) s += in[k]; return s; }
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
  tally<<<2, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
