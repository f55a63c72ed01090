// case: elected_lane_arrives
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=1
// why: an elected lane arrives at the mbarrier for its warp, the barrier expects one arrival from each of the four warps
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ bool elected() {
  unsigned yes;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(yes));
  return yes;
}
__global__ void meet(const int *in, int *out) {
  __shared__ unsigned long long bar;
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(address(&bar)) : "memory");
  __syncthreads();
  s[t] = in[t] * 2;
  __syncwarp();
  if (elected()) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&bar)) : "memory");
  unsigned done;
  do {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(address(&bar)) : "memory");
  } while (!done);
  out[t] = s[127 - t];
}
static int want(const int *in, int i) { return in[127 - i] * 2; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  meet<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
