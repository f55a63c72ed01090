// case: counting_spin_plain
// rule: hoistable-spin
// also: non-terminating-loop
// h200: exit 0
// where: static
// nvidia: hangs
// launch: block=64 grid=1
// why: the loop counts its rounds, but the shared word it waits for is read with a plain load
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void patience(const int *in, int *out, unsigned *polls) {
  __shared__ int state;
  int t = threadIdx.x;
  if (t == 0) state = 1;
  __syncthreads();
  if (t == 63) atomicExch(&state, 2);  //~| the write
  if (t == 0) {
    unsigned n = 0;
    while (state != 2) ++n;  //~ hoistable-spin
    *polls = n;
  }
  __syncthreads();
  out[t] = in[t] + state;
}
static int want(const int *in, int i) { return in[i] + 2; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  unsigned *polls;
  CK(cudaMalloc(&polls, 1 * sizeof *polls));
  CK(cudaMemset(polls, 0, 1 * sizeof *polls));
  patience<<<1, 64>>>(in, out, polls);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
