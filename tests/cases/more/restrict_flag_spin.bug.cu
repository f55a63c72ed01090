// case: restrict_flag_spin
// rule: hoistable-spin
// also: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=32 grid=2
// why: the flag comes in through a const restrict pointer, which promises that nobody writes it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void relay(const int *in, int *box, int *out, const int *__restrict__ flag, int *raise) {
  int t = threadIdx.x;
  if (blockIdx.x == 1) {
    box[t] = in[t] ^ 7;
    __syncthreads();
    if (t == 0) {
      __threadfence();
      atomicExch(raise, 1);  //~| the write
    }
  } else {
    if (t == 0) {
      while (!*flag) {}  //~ hoistable-spin
      __threadfence();
    }
    __syncthreads();
    out[t] = box[31 - t];
  }
}
static int want(const int *in, int i) { return in[31 - i] ^ 7; }
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
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  relay<<<2, 32>>>(in, box, out, flag, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
