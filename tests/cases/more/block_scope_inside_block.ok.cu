// case: block_scope_inside_block
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=4
// why: the block-scope atomics of each block go to a word of its own, and the block-scope fence hands over inside of the block
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void per_block(const int *in, int *out) {
  __shared__ int ready, value;
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  atomicAdd_block(&out[b], in[b * 128 + t]);
  if (t == 127) {
    value = b;
    __threadfence_block();
    atomicExch_block(&ready, 1);
  }
  if (t == 0) {
    while (atomicAdd_block(&ready, 0) == 0) {}
    __threadfence_block();
    atomicAdd_block(&out[b], value);
  }
}
static int want(const int *in, int b) {
  int s = b;
  for (int k = 0; k < 128; ++k) s += in[b * 128 + k];
  return s;
}
int main() {
  static int h_in[512], h_out[4];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  per_block<<<4, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
