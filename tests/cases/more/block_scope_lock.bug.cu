// case: block_scope_lock
// rule: scope-too-narrow
// also: global-race, lost-update
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=6
// why: one thread of each block takes a lock whose atomics have block scope, so two blocks may hold it at once
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
using lock_ref = cuda::atomic_ref<int, cuda::thread_scope_block>;  //~| scope
__global__ void add(const int *in, int *sum, int *word) {
  if (threadIdx.x != 0) return;
  lock_ref lock(*word);
  while (lock.exchange(1, cuda::memory_order_acquire)) {}  //~ scope-too-narrow
  sum[0] += in[blockIdx.x];  //~| what the lock should protect
  lock.store(0, cuda::memory_order_release);  //~| release of block scope
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 6; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[6], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 6; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 1 * sizeof *word));
  CK(cudaMemset(word, 0, 1 * sizeof *word));
  add<<<6, 32>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
