// case: shared_flag_plain
// rule: hoistable-spin
// also: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=64 grid=1
// why: the shared flag is read with a plain load, which the compiler moves out of the loop
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void baton(const int *in, int *out) {
  __shared__ int ready, value;
  int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t == 40) {
    value = in[40] + 1;
    __threadfence_block();
    ready = 1;  //~| the store that is never seen
  }
  if (t < 32) {
    while (!ready) {}  //~ hoistable-spin
    __threadfence_block();
    out[t] = value + t;
  } else {
    out[t] = in[t];
  }
}
static int want(const int *in, int i) { return i < 32 ? in[40] + 1 + i : in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  baton<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
