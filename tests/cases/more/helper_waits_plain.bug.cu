// case: helper_waits_plain
// rule: hoistable-spin
// also: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=2
// why: the helper polls through a plain pointer, so one load before the loop is all that remains
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void await(int *p, int value) {
  while (*p != value) {}  //~ hoistable-spin
  __threadfence();
}
__global__ void pass_on(const int *in, int *box, int *out, int *turn) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    box[t] = in[t] * 9;
    __syncthreads();
    if (t == 0) {
      __threadfence();
      atomicExch(turn, 7);  //~| the write that is not seen
    }
  } else {
    if (t == 0) await(turn, 7);  //~| call
    __syncthreads();
    out[t] = box[t];
  }
}
static int want(const int *in, int i) { return in[i] * 9; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *box;
  CK(cudaMalloc(&box, 32 * sizeof *box));
  CK(cudaMemset(box, 0, 32 * sizeof *box));
  int *turn;
  CK(cudaMalloc(&turn, 1 * sizeof *turn));
  CK(cudaMemset(turn, 0, 1 * sizeof *turn));
  pass_on<<<2, 32>>>(in, box, out, turn);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
