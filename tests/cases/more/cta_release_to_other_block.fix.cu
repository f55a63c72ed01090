// case: cta_release_to_other_block
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: both name the gpu scope
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
#define SCOPE "gpu"
__device__ void publish(int *p) { asm volatile("st.release." SCOPE ".global.u32 [%0], 1;" ::"l"(p) : "memory"); }
__device__ int peek(int *p) {
  int v;
  asm volatile("ld.acquire." SCOPE ".global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__global__ void chain(const int *in, int *sum, int *out, int *flag) {
  int b = blockIdx.x, t = threadIdx.x, total = __reduce_add_sync(0xffffffffu, in[b * 32 + t]);
  if (t == 0) {
    if (b > 0) {
      while (!peek(&flag[b - 1])) {}
      total += sum[b - 1];
    }
    sum[b] = total;
    publish(&flag[b]);
  }
  total = __shfl_sync(0xffffffffu, total, 0);
  out[b * 32 + t] = total;
}
static int want(const int *in, int i) {
  int s = 0;
  for (int k = 0; k < (i / 32 + 1) * 32; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *sum;
  CK(cudaMalloc(&sum, 4 * sizeof *sum));
  CK(cudaMemset(sum, 0, 4 * sizeof *sum));
  int *flag;
  CK(cudaMalloc(&flag, 4 * sizeof *flag));
  CK(cudaMemset(flag, 0, 4 * sizeof *flag));
  chain<<<4, 32>>>(in, sum, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
