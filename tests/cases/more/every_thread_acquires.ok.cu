// case: every_thread_acquires
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=3
// why: all threads of two blocks poll one flag with acquire loads and then read the payload without a barrier
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fan_out(const int *in, int *data, int *out, int *flag) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = in[t] + 8;
    __syncthreads();
    if (t == 0) f.store(1, cuda::memory_order_release);
  } else {
    while (!f.load(cuda::memory_order_acquire)) {}
    out[(blockIdx.x - 1) * 64 + t] = data[t] - (int)blockIdx.x;
  }
}
static int want(const int *in, int i) { return in[i & 63] + 8 - (i / 64 + 1); }
int main() {
  static int h_in[64], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *data;
  CK(cudaMalloc(&data, 64 * sizeof *data));
  CK(cudaMemset(data, 0, 64 * sizeof *data));
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  fan_out<<<3, 64>>>(in, data, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
