// case: token_laid_out_by_host
// rule: none
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: the host puts the token there: the word is not zero at the start
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
#include <cuda/atomic>
__global__ void guarded(const int *in, int *out, int *free_slots) {
  cuda::atomic_ref<int, cuda::thread_scope_device> slots(*free_slots);
  if (threadIdx.x == 0) {
    int seen;
    do {
      while ((seen = slots.load(cuda::memory_order_acquire)) == 0) {}
    } while (!slots.compare_exchange_weak(seen, 0, cuda::memory_order_acquire));
    out[blockIdx.x] = in[blockIdx.x] + 2;
    slots.store(1, cuda::memory_order_release);
  }
}
static int want(const int *in, int i) { return in[i] + 2; }
int main() {
  const int n = 4;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *free_slots;
  CK(cudaMalloc(&free_slots, 1 * sizeof *free_slots));
  CK(cudaMemset(free_slots, 0, 1 * sizeof *free_slots));
  int one = 1;
  CK(cudaMemcpy(free_slots, &one, sizeof one, cudaMemcpyHostToDevice));
  guarded<<<4, 32>>>(in, out, free_slots);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
