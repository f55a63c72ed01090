// case: lock_in_for
// rule: none
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: the release is in the same loop as the attempt, so whoever has the lock gives it back before the others try again
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count(int *total, int *lock, int rounds) {
  for (int i = 0; i < rounds;) {
    if (atomicCAS(lock, 0, 1) != 0) continue;
    __threadfence();
    *(volatile int *)total += 1;
    __threadfence();
    atomicExch(lock, 0);
    ++i;
  }
}
int main() {
  const int rounds = 3;
  int *words, got = 0;
  CK(cudaMalloc(&words, 2 * sizeof(int)));
  CK(cudaMemset(words, 0, 2 * sizeof(int)));
  count<<<2, 32>>>(words, words + 1, rounds);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(&got, words, sizeof got, cudaMemcpyDeviceToHost));
  int bad = got != 2 * 32 * rounds;
  std::printf("elements=1 mismatches=%d\n", bad);
  return bad ? 2 : 0;
}
