// case: block_scope_counter
// rule: scope-too-narrow
// also: global-race, lost-update
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=128 grid=8
// why: all blocks count into the same global bins with atomics of block scope, which are no atomics towards other blocks
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void bins(const int *in, int *out) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd_block(&out[v & 7], 1);  //~ scope-too-narrow
}
static int want(const int *in, int i) {
  int n = 0;
  for (int k = 0; k < 1024; ++k) n += (in[k] & 7) == i;
  return n;
}
int main() {
  static int h_in[1024], h_out[8];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1024; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  bins<<<8, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 8, bad);
  return bad ? 2 : 0;
}
