// case: two_counts_one_id
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=192 grid=1
// why: both sides name 192 threads
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fan_out(const int *in, int *out) {
  __shared__ int buf[64];
  int t = threadIdx.x;
  if (t < 64) {
    buf[t] = in[t] * 7;
    __threadfence_block();
    asm volatile("bar.arrive 4, 192;" ::: "memory");
  } else {
    asm volatile("bar.sync 4, 192;" ::: "memory");
    out[t - 64] = buf[(t - 64) & 63];
  }
}
static int want(const int *in, int i) { return in[i & 63] * 7; }
int main() {
  static int h_in[64], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  fan_out<<<1, 192>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
