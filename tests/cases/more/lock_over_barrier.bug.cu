// case: lock_over_barrier
// rule: wait-cycle
// where: both
// nvidia: hangs
// launch: block=128 grid=1
// why: the leader of one warp has the lock and waits at the barrier for the leaders of the others, which wait for the lock
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void tally(const int *in, int *out, int *lock) {
  __shared__ int part[4];
  int t = threadIdx.x, lane = t & 31;
  int most = __reduce_max_sync(0xffffffffu, in[t]);
  if (lane == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}  //~ wait-cycle
    __threadfence();
    part[t / 32] = most;
  }
  __syncthreads();  //~| the holder waits here
  out[t] = part[t / 32 ^ 1] + in[t];
  if (lane == 0) {
    __threadfence();
    atomicExch(lock, 0);  //~| the lock is given back only behind the barrier
  }
}
static int want(const int *in, int i) { int m = 0, w = (i / 32 ^ 1) * 32; for (int k = w; k < w + 32; ++k) m = in[k] > m ? in[k] : m; return m + in[i]; }
int main() {
  const int n = 128;
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
  tally<<<1, 128>>>(in, out, lock);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
