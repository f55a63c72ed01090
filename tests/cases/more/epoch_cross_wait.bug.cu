// case: epoch_cross_wait
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=64 grid=2
// why: each of the two blocks waits for the epoch of the other before it writes its own
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void swap(const int *in, int *box, int *out, volatile unsigned *ready, unsigned epoch) {
  int t = threadIdx.x, me = blockIdx.x, other = me ^ 1;
  box[me * 64 + t] = in[me * 64 + t];
  __threadfence();
  __syncthreads();
  if (t == 0) {
    while (ready[other] != epoch) {}  //~ wait-cycle
    __threadfence();
    ready[me] = epoch;  //~| written only after the wait
  }
  __syncthreads();
  out[me * 64 + t] = *(volatile int *)&box[other * 64 + t];
}
static int want(const int *in, int i) { return in[i ^ 64]; }
int main() {
  const int n = 128, m = 128;
  static int h_in[n], h_out[m];
  int *in, *out, *box, bad = 0;
  unsigned *aux;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&box, sizeof h_in));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(box, 0, sizeof h_in));
  CK(cudaMemset(aux, 0, 4096));
  swap<<<2, 64>>>(in, box, out, aux, 5);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
