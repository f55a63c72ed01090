// case: order_progress_meter
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: the polled word only paces the second block; what it reads is its own
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void pace(const int *in, int *work, int *out, volatile int *meter) {
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  work[i] = in[i] + 2;
  if (blockIdx.x == 0) {
    if (t == 0) *meter = 1;
  } else {
    while (*meter == 0) __nanosleep(100);
  }
  out[i] = work[i] * 2;
}
static int want(const int *in, int i) { return (in[i] + 2) * 2; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *work;
  CK(cudaMalloc(&work, 64 * sizeof *work));
  CK(cudaMemset(work, 0, 64 * sizeof *work));
  int *meter;
  CK(cudaMalloc(&meter, 1 * sizeof *meter));
  CK(cudaMemset(meter, 0, 1 * sizeof *meter));
  pace<<<2, 32>>>(in, work, out, meter);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
