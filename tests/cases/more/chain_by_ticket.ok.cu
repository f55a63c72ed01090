// case: chain_by_ticket
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=16
// why: a block waits only for blocks that drew an earlier ticket, which are already running and wait for nobody after them
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void prefix(const int *in, int *sum, int *out, unsigned *ticket, unsigned *state) {
  int lane = threadIdx.x;
  unsigned b = 0;
  if (lane == 0) b = atomicAdd(ticket, 1u);
  b = __shfl_sync(0xffffffffu, b, 0);
  int total = __reduce_add_sync(0xffffffffu, in[b * 32 + lane]);
  if (lane == 0) {
    if (b) {
      unsigned s;
      do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(s) : "l"(state + b - 1) : "memory");
      while (!s);
      total += sum[b - 1];
    }
    sum[b] = total;
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(state + b), "r"(1u) : "memory");
    out[b] = total;
  }
}
static int want(const int *in, int b) {
  int s = 0;
  for (int k = 0; k < (b + 1) * 32; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[512], h_out[16];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *sum;
  CK(cudaMalloc(&sum, 16 * sizeof *sum));
  CK(cudaMemset(sum, 0, 16 * sizeof *sum));
  unsigned *ticket;
  CK(cudaMalloc(&ticket, 1 * sizeof *ticket));
  CK(cudaMemset(ticket, 0, 1 * sizeof *ticket));
  unsigned *state;
  CK(cudaMalloc(&state, 16 * sizeof *state));
  CK(cudaMemset(state, 0, 16 * sizeof *state));
  prefix<<<16, 32>>>(in, sum, out, ticket, state);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 16, bad);
  return bad ? 2 : 0;
}
