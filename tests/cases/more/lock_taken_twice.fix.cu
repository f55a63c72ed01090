// case: lock_taken_twice
// rule: none
// where: both
// nvidia: completes
// launch: block=32 grid=1
// why: the caller leaves the lock to its helper
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void take(int *lock) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
}
__device__ void give(int *lock) {
  __threadfence();
  atomicExch(lock, 0);
}
__device__ void append(const int *in, int *out, int *lock, int i) {
  take(lock);
  out[i] = in[i] + 1;
  give(lock);
}
__global__ void log_all(const int *in, int *out, int *lock) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < 8; ++i) append(in, out, lock, i);
}
static int want(const int *in, int i) { return in[i] + 1; }
int main() {
  const int n = 8;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *lock;
  CK(cudaMalloc(&lock, 1 * sizeof *lock));
  CK(cudaMemset(lock, 0, 1 * sizeof *lock));
  log_all<<<1, 32>>>(in, out, lock);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
