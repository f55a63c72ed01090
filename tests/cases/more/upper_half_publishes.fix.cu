// case: upper_half_publishes
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=192 grid=1
// why: the last warp stores the flag without waiting for anybody
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void store_release(unsigned *p, unsigned v) {
  asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(p)), "r"(v) : "memory");
}
__device__ unsigned load_acquire(const unsigned *p) {
  unsigned v;
  asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory");
  return v;
}
__global__ void last_first(const int *in, int *out) {
  __shared__ int total;
  __shared__ unsigned ready;
  int t = threadIdx.x;
  if (t == 191) ready = 0;
  __syncthreads();
  if (t < 64) {
    while (!load_acquire(&ready)) {}
    out[t] = total + in[t];
  } else {
    if (t == 191) total = in[t] * in[t - 1];
    if (t == 191) store_release(&ready, 1);
  }
}
static int want(const int *in, int i) { return in[191] * in[190] + in[i]; }
int main() {
  static int h_in[192], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 192; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  last_first<<<1, 192>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
