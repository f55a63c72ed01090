// case: order_ring_unreleased
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: a fence stands before the mark
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void pump(const int *in, int *slot, int *out, volatile int *full, int n) {
  if (threadIdx.x != 0) return;
  for (int k = 0; k < n; ++k) {
    int s = k & 3;
    if (blockIdx.x == 0) {
      while (full[s] != 0) {}
      __threadfence();
      slot[s] = in[k] * 7;
      __threadfence();
      full[s] = 1;
    } else {
      while (full[s] != 1) {}
      __threadfence();
      out[k] = slot[s];
      __threadfence();
      full[s] = 0;
    }
  }
}
static int want(const int *in, int i) { return in[i] * 7; }
int main() {
  static int h_in[40], h_out[40];
  int *in, *out, bad = 0;
  for (int i = 0; i < 40; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *slot;
  CK(cudaMalloc(&slot, 4 * sizeof *slot));
  CK(cudaMemset(slot, 0, 4 * sizeof *slot));
  int *full;
  CK(cudaMalloc(&full, 4 * sizeof *full));
  CK(cudaMemset(full, 0, 4 * sizeof *full));
  pump<<<2, 32>>>(in, slot, out, full, 40);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 40; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 40, bad);
  return bad ? 2 : 0;
}
