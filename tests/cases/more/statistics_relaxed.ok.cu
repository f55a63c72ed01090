// case: statistics_relaxed
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=4
// why: the relaxed atomics are counters that carry no other data with them
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void tally(const int *in, int *out) {
  int v = in[blockIdx.x * 128 + threadIdx.x];
  cuda::atomic_ref<int, cuda::thread_scope_device> bin(out[v & 3]);
  bin.fetch_add(v > 0, cuda::memory_order_relaxed);
  if (v > 100000) cuda::atomic_ref<int, cuda::thread_scope_device>(out[0]).store(-1, cuda::memory_order_relaxed);
}
static int want(const int *in, int i) {
  int n = 0;
  for (int k = 0; k < 512; ++k) n += (in[k] & 3) == i;
  return n;
}
int main() {
  static int h_in[512], h_out[4];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  tally<<<4, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
