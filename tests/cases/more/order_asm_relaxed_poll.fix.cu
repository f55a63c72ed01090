// case: order_asm_relaxed_poll
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: the reader polls with ld.acquire
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ unsigned look(const unsigned *p) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void tell(unsigned *p, unsigned v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__global__ void relay(const int *in, int *box, int *out, unsigned *word) {
  int t = threadIdx.x;
  if (blockIdx.x == 1) {
    while (look(word) != 7u) __nanosleep(32);
    out[t] = box[63 - t] + 1;
    return;
  }
  box[t] = in[t] * 5;
  __syncthreads();
  if (t == 0) tell(word, 7u);
}
static int want(const int *in, int i) { return in[63 - i] * 5 + 1; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *box;
  CK(cudaMalloc(&box, 64 * sizeof *box));
  CK(cudaMemset(box, 0, 64 * sizeof *box));
  unsigned *word;
  CK(cudaMalloc(&word, 1 * sizeof *word));
  CK(cudaMemset(word, 0, 1 * sizeof *word));
  relay<<<2, 64>>>(in, box, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
