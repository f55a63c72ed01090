// case: gate_reset_by_kernel
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: the host opens the gate after the launch; the zero that the last block leaves there ends no wait, so nobody in the grid waits for it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void gated(const int *in, int *out, volatile unsigned *gate, unsigned *done) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) {
    while (*gate == 0) {}
    __threadfence();
  }
  __syncthreads();
  out[i] = in[i] + 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(done, 1) == gridDim.x - 1) {
    *done = 0;
    *gate = 0;
  }
}
static int want(const int *in, int i) { return in[i] + 1; }
int main() {
  const int n = 128, m = 128;
  static int h_in[n], h_out[m];
  int *in, *out, *box, bad = 0;
  unsigned *aux;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&box, sizeof h_in));
  CK(cudaHostAlloc(&aux, 4096, cudaHostAllocMapped));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(box, 0, sizeof h_in));
  CK(cudaMemset(aux, 0, 4096));
  gated<<<2, 64>>>(in, out, aux, aux + 8);
  CK(cudaGetLastError());
  *(volatile unsigned *)aux = 1;
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
