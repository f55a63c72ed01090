// case: predicated_barrier_asm
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: the barrier instruction itself is guarded by a predicate over the thread's index
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ void barrier_below(unsigned t, unsigned n) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %0, %1;\n\t@p bar.sync 0;\n\t}" ::"r"(t), "r"(n) : "memory");  //~ divergent-barrier
}
__global__ void half(const int *in, int *out) {
  __shared__ int s[128];
  unsigned t = threadIdx.x;
  s[t] = in[t] * 4;
  barrier_below(t, 64);  //~| two warps of four
  out[t] = t < 64 ? s[63 - t] : 0;
}
static int want(const int *in, int i) { return i < 64 ? in[63 - i] * 4 : 0; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  half<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
