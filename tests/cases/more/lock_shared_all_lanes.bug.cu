// case: lock_shared_all_lanes
// rule: spin-lock-lockstep
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=96 grid=1
// why: all lanes compete for a lock in shared memory with a do-while loop around the compare-and-swap
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void lowest(const int *in, int *out) {
  __shared__ int lock;
  __shared__ volatile int low;
  int t = threadIdx.x, v = in[t];
  if (t == 0) lock = 0, low = 1 << 30;
  __syncthreads();
  int got;
  do {
    got = atomicCAS(&lock, 0, 1);  //~ spin-lock-lockstep
  } while (got != 0);  //~| all lanes must leave the loop
  __threadfence_block();
  if (v < low) low = v;
  __threadfence_block();
  atomicExch(&lock, 0);  //~| before the release
  __syncthreads();
  if (t == 0) *out = low;
}
static int want(const int *in, int) {
  int m = 1 << 30;
  for (int k = 0; k < 96; ++k) m = in[k] < m ? in[k] : m;
  return m;
}
int main() {
  static int h_in[96], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 96; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  lowest<<<1, 96>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
