// case: device_atomic_object_relaxed
// rule: missing-acquire
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=2
// why: the atomic object is read relaxed, and the payload loads follow without a fence
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ cuda::atomic<int, cuda::thread_scope_device> stage{0};
__device__ int payload[32];
__global__ void pass(const int *in, int *out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int k = 0; k < 32; ++k) payload[k] = in[k] * k;
    stage.store(1, cuda::std::memory_order_release);
  } else {
    while (stage.load(cuda::std::memory_order_relaxed) != 1) {}  //~ missing-acquire
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += payload[k];  //~| payload loads
    *out = sum;
  }
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 32; ++k) s += in[k] * k;
  return s;
}
int main() {
  static int h_in[32], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  pass<<<2, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
