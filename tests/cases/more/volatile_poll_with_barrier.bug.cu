// case: volatile_poll_with_barrier
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=2
// why: every thread reads the stop word for itself, so some may leave the loop one round before the others
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void worker(const int *in, int *out, int *stop) {
  __shared__ int s[64];
  int t = threadIdx.x, v = in[t], halt;
  if (blockIdx.x == 1) {
    if (t == 0) atomicExch(stop, 1);  //~| written by another block
    return;
  }
  do {
    s[t] = v;
    __syncthreads();  //~ divergent-barrier
    int w = s[t ^ 1];
    __syncthreads();  //~ divergent-barrier
    halt = *(volatile int *)stop;  //~| each thread may see another value
    v = w;
  } while (!halt);
  out[t] = v > 0;
}
static int want(const int *, int) { return 1; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *stop;
  CK(cudaMalloc(&stop, 1 * sizeof *stop));
  CK(cudaMemset(stop, 0, 1 * sizeof *stop));
  worker<<<2, 64>>>(in, out, stop);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
