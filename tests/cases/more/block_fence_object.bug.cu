// case: block_fence_object
// rule: scope-too-narrow
// also: missing-acquire, global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=2
// why: the reader's acquire fence has block scope although the writer is in another block
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void take(const int *in, int *data, int *out, int *flag) {
  int t = threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[t] = in[t] + 70;
    __syncwarp();
    if (t == 0) ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_relaxed) == 0) {}  //~| the flag of another block
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);  //~ scope-too-narrow
    out[t] = data[31 - t];  //~| payload load
  }
}
static int want(const int *in, int i) { return in[31 - i] + 70; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *data;
  CK(cudaMalloc(&data, 32 * sizeof *data));
  CK(cudaMemset(data, 0, 32 * sizeof *data));
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  take<<<2, 32>>>(in, data, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
