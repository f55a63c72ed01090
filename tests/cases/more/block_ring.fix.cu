// case: block_ring
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: every block sets its own flag before it waits for its neighbour's
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
using flag_ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
__global__ void ring(const int *in, int *box, int *out, int *flag) {
  int b = blockIdx.x, n = gridDim.x, t = threadIdx.x, right = (b + 1) % n;
  box[b * 32 + t] = in[b * 32 + t] * 2;
  __syncthreads();
  if (t == 0) {
    flag_ref(flag[b]).store(1, cuda::memory_order_release);
    while (flag_ref(flag[right]).load(cuda::memory_order_acquire) == 0) {}
  }
  __syncthreads();
  out[b * 32 + t] = box[right * 32 + t];
}
static int want(const int *in, int i) { return in[(i + 32) % 128] * 2; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *box;
  CK(cudaMalloc(&box, 128 * sizeof *box));
  CK(cudaMemset(box, 0, 128 * sizeof *box));
  int *flag;
  CK(cudaMalloc(&flag, 4 * sizeof *flag));
  CK(cudaMemset(flag, 0, 4 * sizeof *flag));
  ring<<<4, 32>>>(in, box, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
