// case: barrier_zero_counted_half
// rule: barrier-count
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=256 grid=1
// why: the lower half waits at barrier 0 with a count of 256, the upper half never uses barrier 0 and returns
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void lower_reverse(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t >= 128) {  //~| the upper half goes its own way
    out[t] = in[t] * 2;
  } else {
    s[t] = in[t];
    asm volatile("barrier.sync 0, 256;" ::: "memory");  //~ barrier-count
    out[t] = s[127 - t];
  }
}
static int want(const int *in, int i) { return i < 128 ? in[127 - i] : in[i] * 2; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  lower_reverse<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
