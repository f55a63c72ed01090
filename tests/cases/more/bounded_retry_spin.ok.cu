// case: bounded_retry_spin
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: the poll gives up after a number of rounds and works without the answer, the lock is only tried
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void opportunist(const int *in, int *out, int *lock, int *hint) {
  __shared__ int seen;
  int t = threadIdx.x;
  if (blockIdx.x == 1) {
    if (t == 0 && atomicExch(lock, 1) == 0) {
      atomicAdd(hint, 1);
      atomicExch(lock, 0);
    }
    return;
  }
  if (t == 0) {
    int tries = 0, h = 0;
    while ((h = atomicAdd(hint, 0)) == 0 && ++tries < 100) __nanosleep(10);
    seen = h;
  }
  __syncthreads();
  out[t] = in[t] + (seen > 1);
}
static int want(const int *in, int i) { return in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *lock;
  CK(cudaMalloc(&lock, 1 * sizeof *lock));
  CK(cudaMemset(lock, 0, 1 * sizeof *lock));
  int *hint;
  CK(cudaMalloc(&hint, 1 * sizeof *hint));
  CK(cudaMemset(hint, 0, 1 * sizeof *hint));
  opportunist<<<2, 64>>>(in, out, lock, hint);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
