// case: fence_after_payload_load
// rule: missing-acquire
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=2
// why: the reader's fence stands behind the payload load that it should precede
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void relay(const int *in, int *data, int *out, unsigned *flag) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = in[t] | 1;
    __syncwarp();
    if (t == 0) {
      __threadfence();
      atomicExch(flag, 1u);
    }
  } else {
    unsigned f;
    do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(flag) : "memory");  //~ missing-acquire
    while (f == 0);
    int v = data[t];  //~| payload load before the fence
    __threadfence();
    out[t] = v;
  }
}
static int want(const int *in, int i) { return in[i] | 1; }
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
  unsigned *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  relay<<<2, 32>>>(in, data, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
