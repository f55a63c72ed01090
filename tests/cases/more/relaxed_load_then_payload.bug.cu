// case: relaxed_load_then_payload
// rule: missing-acquire
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=64 grid=2
// why: the flag is polled with relaxed loads and nothing orders the payload loads after them
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
using device_int = cuda::atomic_ref<int, cuda::thread_scope_device>;
template <class F> __device__ void until(F done) {
  while (!done()) {}
}
__global__ void take(const int *in, int *data, int *out, int *flag) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = in[t] - 4;
    __syncthreads();
    if (t == 0) device_int(*flag).store(1, cuda::memory_order_release);
  } else {
    until([&] { return device_int(*flag).load(cuda::memory_order_relaxed) != 0; });  //~ missing-acquire
    out[t] = data[t ^ 32];  //~| payload load
  }
}
static int want(const int *in, int i) { return in[i ^ 32] - 4; }
int main() {
  static int h_in[64], h_out[64];
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
  take<<<2, 64>>>(in, data, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
