// case: fence_before_payload
// rule: missing-release
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=96 grid=2
// why: the fence stands before the payload store and orders nothing between the payload and the flag
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ void put(unsigned *p, unsigned v) { asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }  //~| the relaxed store
__device__ __forceinline__ unsigned get(const unsigned *p) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__global__ void hand(const int *in, int *data, int *out, unsigned *flag) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    __threadfence();
    data[t] = in[t] + 100;  //~| payload, behind the fence
    __syncthreads();
    if (t == 0) put(flag, 1);  //~ missing-release
  } else {
    while (get(flag) == 0) {}
    out[t] = data[t ^ 1];
  }
}
static int want(const int *in, int i) { return in[i ^ 1] + 100; }
int main() {
  static int h_in[96], h_out[96];
  int *in, *out, bad = 0;
  for (int i = 0; i < 96; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *data;
  CK(cudaMalloc(&data, 96 * sizeof *data));
  CK(cudaMemset(data, 0, 96 * sizeof *data));
  unsigned *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  hand<<<2, 96>>>(in, data, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 96; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 96, bad);
  return bad ? 2 : 0;
}
