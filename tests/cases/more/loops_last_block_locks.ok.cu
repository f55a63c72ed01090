// case: loops_last_block_locks
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: the block that comes last takes a lock with one thread
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void finish(const int *in, int *out, int *aux) {
  atomicAdd(&out[1], in[blockIdx.x * 32 + threadIdx.x]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomicAdd(&aux[1], 1) != gridDim.x - 1) return;
  while (atomicExch(aux, 1)) {}
  __threadfence();
  *out = atomicAdd(&out[1], 0);
  __threadfence();
  atomicExch(aux, 0);
}
static int want(const int *in, int) { int s = 0; for (int k = 0; k < 128; ++k) s += in[k]; return s; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, *aux, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(aux, 0, 4096));
  finish<<<4, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
