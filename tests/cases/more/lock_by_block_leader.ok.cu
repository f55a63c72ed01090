// case: lock_by_block_leader
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=8
// why: only thread 0 of each block spins for the lock, the others wait at a block barrier that thread 0 reaches after the release
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void lock(int *m) {
  while (atomicCAS(m, 0, 1)) {}
  __threadfence();
}
__device__ void unlock(int *m) {
  __threadfence();
  atomicExch(m, 0);
}
__global__ void record(const int *in, int *out, int *mutex) {
  int most = __syncthreads_count(in[blockIdx.x * 64 + threadIdx.x] & 1);
  if (threadIdx.x == 0) {
    lock(mutex);
    if (out[0] < most) out[0] = most;
    out[1] += 1;
    unlock(mutex);
  }
  __syncthreads();
}
static int want(const int *in, int i) {
  int best = 0;
  for (int b = 0; b < 8; ++b) {
    int n = 0;
    for (int t = 0; t < 64; ++t) n += in[b * 64 + t] & 1;
    best = n > best ? n : best;
  }
  return i ? 8 : best;
}
int main() {
  static int h_in[512], h_out[2];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *mutex;
  CK(cudaMalloc(&mutex, 1 * sizeof *mutex));
  CK(cudaMemset(mutex, 0, 1 * sizeof *mutex));
  record<<<8, 64>>>(in, out, mutex);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 2; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 2, bad);
  return bad ? 2 : 0;
}
