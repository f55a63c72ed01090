// case: waits_for_later_block
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=512 grid=4
// why: four blocks fit at once on every card
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void backwards(const int *in, int *out, int *state) {
  unsigned b = blockIdx.x;
  if (threadIdx.x == 0) {
    int v = in[b & 255];
    if (b + 1 < gridDim.x) {
      volatile int *next = state + b + 1;
      while (*next == 0) {}
      __threadfence();
    }
    if (b < 4) out[b] = v;
    __threadfence();
    *(volatile int *)(state + b) = 1;
  }
}
static int want(const int *in, int i) { return in[i]; }
int main() {
  static int h_in[256], h_out[4];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *state;
  CK(cudaMalloc(&state, 60000 * sizeof *state));
  CK(cudaMemset(state, 0, 60000 * sizeof *state));
  backwards<<<4, 512>>>(in, out, state);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
