// case: order_ticket_lock
// rule: missing-release
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=6
// why: the ticket lock is passed on by a relaxed addition with no fence behind the protected update
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void deposit(const int *in, int *sum, unsigned *next, unsigned *serving) {
  if (threadIdx.x == 0) {
    unsigned mine = atomicAdd(next, 1u);
    while (*(volatile unsigned *)serving != mine) {}
    __threadfence();
    sum[0] = sum[0] + in[blockIdx.x];  //~| the protected update
    atomicAdd(serving, 1u);  //~ missing-release
  }
}
static int want(const int *in, int i) { int s = 0; for (int k = 0; k < 6; ++k) s += in[k]; return s; }
int main() {
  static int h_in[6], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 6; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  unsigned *next;
  CK(cudaMalloc(&next, 1 * sizeof *next));
  CK(cudaMemset(next, 0, 1 * sizeof *next));
  unsigned *serving;
  CK(cudaMalloc(&serving, 1 * sizeof *serving));
  CK(cudaMemset(serving, 0, 1 * sizeof *serving));
  deposit<<<6, 32>>>(in, out, next, serving);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
