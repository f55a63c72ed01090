// case: lock_helper_per_bucket
// rule: spin-lock-lockstep
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: lanes whose keys fall into the same bucket compete for its lock inside of one warp
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void acquire(unsigned *l) {
  while (atomicCAS(l, 0u, 1u) != 0u) {}  //~ spin-lock-lockstep
  __threadfence();
}
__device__ void release(unsigned *l) {
  __threadfence();
  atomicExch(l, 0u);  //~| release
}
__global__ void buckets(const int *in, volatile int *sum, unsigned *locks) {
  int v = in[threadIdx.x], k = v & 7;
  acquire(&locks[k]);  //~| one lock per bucket, several lanes per bucket
  sum[k] = sum[k] + v;
  release(&locks[k]);
}
static int want(const int *in, int i) {
  int s = 0;
  for (int k = 0; k < 64; ++k) s += (in[k] & 7) == i ? in[k] : 0;
  return s;
}
int main() {
  static int h_in[64], h_out[8];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  unsigned *locks;
  CK(cudaMalloc(&locks, 8 * sizeof *locks));
  CK(cudaMemset(locks, 0, 8 * sizeof *locks));
  buckets<<<1, 64>>>(in, out, locks);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 8, bad);
  return bad ? 2 : 0;
}
