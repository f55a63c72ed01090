// case: neighbours_by_parity
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=64 grid=4
// why: an even block waits for the odd one beside it and the odd one for the even one, both before they publish
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void pairs(const int *in, int *edge, int *out, unsigned *stamp) {
  unsigned b = blockIdx.x, t = threadIdx.x, i = b * 64 + t, mate = b ^ 1u;
  if (t == 0) {
    unsigned seen;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&stamp[mate]) : "memory");  //~ wait-cycle
    } while (seen < 1);  //~| both kinds of blocks wait here first
    edge[b] = in[i];
    __threadfence();
    atomicMax(&stamp[b], 1u);  //~| published after the wait
  }
  __syncthreads();
  out[i] = in[i] - ((b & 1) ? edge[mate] : 0);
}
static int want(const int *in, int i) { return in[i] - (i & 64 ? in[(i & ~63) - 64] : 0); }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *edge;
  CK(cudaMalloc(&edge, 4 * sizeof *edge));
  CK(cudaMemset(edge, 0, 4 * sizeof *edge));
  unsigned *stamp;
  CK(cudaMalloc(&stamp, 4 * sizeof *stamp));
  CK(cudaMemset(stamp, 0, 4 * sizeof *stamp));
  pairs<<<4, 64>>>(in, edge, out, stamp);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
