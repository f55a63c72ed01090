// case: waits_for_later_block
// rule: grid-residency
// also: wait-cycle
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=512 grid=60000
// why: every block waits for the block after it, and the last ones cannot start while the first ones hold all places
// doubt: whether the grid fits depends on the card; no card holds 60000 blocks of 512 threads at once
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
      while (*next == 0) {}  //~ grid-residency
      __threadfence();
    }
    if (b < 4) out[b] = v;
    __threadfence();
    *(volatile int *)(state + b) = 1;  //~| set by a later block
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
  backwards<<<60000, 512>>>(in, out, state);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
