// case: epoch_behind_barrier
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=128 grid=1
// why: half of the block waits at a barrier for the other half, which waits for an epoch that is written behind the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void pass(const int *in, int *box, int *out, volatile unsigned *ready, unsigned epoch) {
  int t = threadIdx.x;
  if (t < 64) {
    box[t] = in[t];
    __threadfence_block();
    __syncthreads();  //~ wait-cycle
    if (t == 0) *ready = epoch;  //~| behind the barrier
  } else {
    while (*ready != epoch) {}  //~| polls before the barrier
    __threadfence_block();
    __syncthreads();
    out[t - 64] = box[t - 64];
  }
}
static int want(const int *in, int i) { return in[i]; }
int main() {
  const int n = 64, m = 64;
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
  pass<<<1, 128>>>(in, box, out, aux, 7);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
