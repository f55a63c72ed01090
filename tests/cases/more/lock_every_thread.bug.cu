// case: lock_every_thread
// rule: spin-lock-lockstep
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=2
// why: all lanes of a warp spin with atomicExch until each has the lock; in lockstep the holder waits for the spinners to leave the loop
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void max_of(const int *in, int *best, int *lock) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  while (atomicExch(lock, 1)) {}  //~ spin-lock-lockstep
  __threadfence();
  if (v > *(volatile int *)best) *(volatile int *)best = v;
  __threadfence();
  atomicExch(lock, 0);  //~| the release behind the loop
}
static int want(const int *in, int) {
  int m = 0;
  for (int k = 0; k < 256; ++k) m = in[k] > m ? in[k] : m;
  return m;
}
int main() {
  static int h_in[256], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *lock;
  CK(cudaMalloc(&lock, 1 * sizeof *lock));
  CK(cudaMemset(lock, 0, 1 * sizeof *lock));
  max_of<<<2, 128>>>(in, out, lock);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
