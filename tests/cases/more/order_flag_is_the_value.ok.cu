// case: order_flag_is_the_value
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: the polled word carries the payload itself; there is nothing else to order
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void carry(const int *in, int *out, int *word) {
  cuda::atomic_ref<int, cuda::thread_scope_device> w(*word);
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) w.store(in[3] + 1, cuda::memory_order_relaxed);
  } else {
    int v;
    while ((v = w.load(cuda::memory_order_relaxed)) == 0) {}
    out[threadIdx.x] = v + in[threadIdx.x];
  }
}
static int want(const int *in, int i) { return in[3] + 1 + in[i]; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 1 * sizeof *word));
  CK(cudaMemset(word, 0, 1 * sizeof *word));
  carry<<<2, 32>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
