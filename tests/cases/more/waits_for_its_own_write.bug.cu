// case: waits_for_its_own_write
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=64 grid=2
// why: each block waits for a flag of its own that only its own thread 0 sets, after the wait
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
using aref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__global__ void checkin(const int *in, int *out, unsigned *flags) {
  unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
  aref mine(flags[blockIdx.x]);
  if (t == 0) {
    while (mine.load(cuda::memory_order_acquire) != 1) {}  //~ wait-cycle
    mine.store(1, cuda::memory_order_release);  //~| the only write
  }
  __syncthreads();
  out[i] = in[i] * 2;
}
static int want(const int *in, int i) { return in[i] * 2; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  unsigned *flags;
  CK(cudaMalloc(&flags, 2 * sizeof *flags));
  CK(cudaMemset(flags, 0, 2 * sizeof *flags));
  checkin<<<2, 64>>>(in, out, flags);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
