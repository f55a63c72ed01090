// case: lock_backoff_lanes
// rule: spin-lock-lockstep
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: sleeping between the attempts changes nothing: all lanes of the warp must leave the loop before one releases
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void total(const int *in, int *sum, int *word) {
  cuda::atomic_ref<int, cuda::thread_scope_device> lock(*word);
  int v = in[blockIdx.x * 32 + threadIdx.x];
  unsigned ns = 20;
  while (lock.exchange(1, cuda::memory_order_acquire) != 0) {  //~ spin-lock-lockstep
    __nanosleep(ns);
    if (ns < 1000) ns *= 2;
  }
  *sum += v;
  lock.store(0, cuda::memory_order_release);  //~| the release
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 64; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[64], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 1 * sizeof *word));
  CK(cudaMemset(word, 0, 1 * sizeof *word));
  total<<<2, 32>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
