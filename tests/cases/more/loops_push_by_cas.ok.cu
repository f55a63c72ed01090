// case: loops_push_by_cas
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=1
// why: a push on a stack by compare-and-swap is no lock: who succeeds has nothing to give back
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void push(const int *in, int *out, int *aux) {
  int t = threadIdx.x, node = t + 1, head = *(volatile int *)aux, seen;
  do {
    seen = head;
    ((volatile int *)aux)[node] = seen;
    __threadfence();
    head = atomicCAS(aux, seen, node);
  } while (head != seen);
  __syncwarp();
  if (t == 0) {
    int n = 0;
    for (int at = *(volatile int *)aux; at; at = ((volatile int *)aux)[at]) n += in[at - 1];
    *out = n;
    *aux = 0;
  }
}
static int want(const int *in, int) { int s = 0; for (int k = 0; k < 32; ++k) s += in[k]; return s; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, *aux, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(aux, 0, 4096));
  push<<<1, 32>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
