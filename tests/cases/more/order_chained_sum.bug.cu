// case: order_chained_sum
// rule: missing-acquire
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=64 grid=4
// why: each block adds to the running sum of its predecessor, whose flag it polls relaxed
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void running(const int *in, int *sums, int *out, int *flags) {
  __shared__ int base;
  int b = blockIdx.x, t = threadIdx.x;
  int v = __syncthreads_count(in[b * 64 + t] & 1);
  if (t == 0) {
    int before = 0;
    if (b != 0) {
      cuda::atomic_ref<int, cuda::thread_scope_device> f(flags[b - 1]);
      while (!f.load(cuda::memory_order_relaxed)) {}  //~ missing-acquire
      before = sums[b - 1];  //~| payload load
    }
    sums[b] = before + v;
    cuda::atomic_ref<int, cuda::thread_scope_device>(flags[b]).store(1, cuda::memory_order_release);
    base = before;
  }
  __syncthreads();
  out[b * 64 + t] = base;
}
static int want(const int *in, int i) { int s = 0; for (int k = 0; k < i / 64 * 64; ++k) s += in[k] & 1; return s; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *sums;
  CK(cudaMalloc(&sums, 4 * sizeof *sums));
  CK(cudaMemset(sums, 0, 4 * sizeof *sums));
  int *flags;
  CK(cudaMalloc(&flags, 4 * sizeof *flags));
  CK(cudaMemset(flags, 0, 4 * sizeof *flags));
  running<<<4, 64>>>(in, sums, out, flags);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
