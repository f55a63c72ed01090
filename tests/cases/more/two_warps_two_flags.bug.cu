// case: two_warps_two_flags
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=64 grid=1
// why: warp 0 waits for flag b before it sets a, warp 1 waits for flag a before it sets b
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void shake_hands(const int *in, int *out) {
  __shared__ volatile int a, b;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0) a = b = 0;
  s[t] = in[t] * 2;
  __syncthreads();
  if (t == 0) {
    while (b == 0) {}  //~ wait-cycle
    a = 1;  //~| set only after b
  } else if (t == 32) {
    while (a == 0) {}  //~| the other wait
    b = 1;  //~| set only after a
  }
  __syncthreads();
  out[t] = s[63 - t];
}
static int want(const int *in, int i) { return in[63 - i] * 2; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  shake_hands<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
