// case: order_cta_poll
// rule: scope-too-narrow
// also: missing-acquire, global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=3
// why: the flag is released at device scope but acquired at block scope, by blocks other than the writer's
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void spread(const int *in, int *seed, int *out, int *flag) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    seed[t] = in[t] ^ 21;
    __syncwarp();
    if (t == 0) cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);  //~| the writer
  } else {
    cuda::atomic_ref<int, cuda::thread_scope_block> f(*flag);
    while (f.load(cuda::memory_order_acquire) == 0) {}  //~ scope-too-narrow
    out[(blockIdx.x - 1) * 32 + t] = seed[31 - t];
  }
}
static int want(const int *in, int i) { return in[31 - i % 32] ^ 21; }
int main() {
  static int h_in[32], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *seed;
  CK(cudaMalloc(&seed, 32 * sizeof *seed));
  CK(cudaMemset(seed, 0, 32 * sizeof *seed));
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  spread<<<3, 32>>>(in, seed, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
