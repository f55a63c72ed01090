// case: order_block_private_flag
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=4
// why: flag and counter lie in global memory, but each block has its own, so block scope is enough
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void inner(const int *in, int *tmp, int *out, int *flags) {
  int b = blockIdx.x, t = threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_block> f(flags[b]);
  if (t >= 32) {
    tmp[b * 64 + t] = in[b * 64 + t] + t;
    __threadfence_block();
    f.fetch_add(1, cuda::memory_order_release);
  } else {
    while (f.load(cuda::memory_order_acquire) < 32) {}
    out[b * 32 + t] = tmp[b * 64 + 32 + (t ^ 3)];
  }
}
static int want(const int *in, int i) { int t = 32 + (i % 32 ^ 3); return in[i / 32 * 64 + t] + t; }
int main() {
  static int h_in[256], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *tmp;
  CK(cudaMalloc(&tmp, 256 * sizeof *tmp));
  CK(cudaMemset(tmp, 0, 256 * sizeof *tmp));
  int *flags;
  CK(cudaMalloc(&flags, 4 * sizeof *flags));
  CK(cudaMemset(flags, 0, 4 * sizeof *flags));
  inner<<<4, 64>>>(in, tmp, out, flags);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
