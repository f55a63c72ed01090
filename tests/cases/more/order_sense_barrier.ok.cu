// case: order_sense_barrier
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=4
// why: a sense-reversing grid barrier with fences on both sides, used twice
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void cross(unsigned *count, volatile unsigned *sense, unsigned all) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned mine = *sense;
    __threadfence();
    if (atomicAdd(count, 1u) == all - 1) {
      *count = 0;
      __threadfence();
      *sense = mine ^ 1u;
    } else {
      while (*sense == mine) {}
    }
    __threadfence();
  }
  __syncthreads();
}
__global__ void twice(const int *in, int *a, int *b, int *out, unsigned *count, volatile unsigned *sense) {
  int i = blockIdx.x * 64 + threadIdx.x;
  a[i] = in[i] + 1;
  cross(count, sense, gridDim.x);
  b[i] = a[255 - i] + 1;
  cross(count, sense, gridDim.x);
  out[i] = b[i ^ 64];
}
static int want(const int *in, int i) { return in[255 - (i ^ 64)] + 2; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *a;
  CK(cudaMalloc(&a, 256 * sizeof *a));
  CK(cudaMemset(a, 0, 256 * sizeof *a));
  int *b;
  CK(cudaMalloc(&b, 256 * sizeof *b));
  CK(cudaMemset(b, 0, 256 * sizeof *b));
  unsigned *count;
  CK(cudaMalloc(&count, 1 * sizeof *count));
  CK(cudaMemset(count, 0, 1 * sizeof *count));
  unsigned *sense;
  CK(cudaMalloc(&sense, 1 * sizeof *sense));
  CK(cudaMemset(sense, 0, 1 * sizeof *sense));
  twice<<<4, 64>>>(in, a, b, out, count, sense);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
