// case: spin_holds_named_barrier
// rule: wait-cycle
// also: barrier-count
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=128 grid=1
// why: warps 0-1 wait at named barrier 1 for warps 2-3, which poll a flag that is set only behind that barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void gate(const int *in, int *out, int *flag) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = in[t] * in[t + 64];
    asm volatile("bar.sync 1, 128;" ::: "memory");  //~ wait-cycle
    if (t == 0) atomicExch(flag, 1);  //~| behind the barrier
  } else {
    while (atomicAdd(flag, 0) == 0) {}  //~| polls
    asm volatile("bar.sync 1, 128;" ::: "memory");  //~| reached only after the flag
    out[t - 64] = s[127 - t];
  }
}
static int want(const int *in, int i) { return in[63 - i] * in[127 - i]; }
int main() {
  static int h_in[128], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  gate<<<1, 128>>>(in, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
