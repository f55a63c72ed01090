// case: lock_by_warp_leader
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32x4 grid=2
// why: one elected lane per warp takes the lock while the other lanes wait at a warp barrier that the holder reaches after the release
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void weigh(const int *in, int *sum, int *word) {
  cuda::atomic_ref<int, cuda::thread_scope_device> lock(*word);
  int i = (blockIdx.x * 4 + threadIdx.y) * 32 + threadIdx.x;
  int v = __reduce_max_sync(0xffffffffu, in[i]);
  if (threadIdx.x == 0) {
    while (lock.exchange(1, cuda::memory_order_acquire)) __nanosleep(100);
    *sum = *sum * 1 + v;
    lock.store(0, cuda::memory_order_release);
  }
  __syncwarp();
}
static int want(const int *in, int) {
  int s = 0;
  for (int w = 0; w < 8; ++w) {
    int m = 0;
    for (int k = 0; k < 32; ++k) m = in[w * 32 + k] > m ? in[w * 32 + k] : m;
    s += m;
  }
  return s;
}
int main() {
  static int h_in[256], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 1 * sizeof *word));
  CK(cudaMemset(word, 0, 1 * sizeof *word));
  weigh<<<2, dim3(32, 4)>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
