// case: counter_after_barrier
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=1
// why: the others raise the count before the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void collect(const int *in, int *out) {
  __shared__ int done, sum;
  int t = threadIdx.x;
  if (t == 0) done = 0, sum = 0;
  __syncthreads();
  if (t) {
    atomicAdd(&sum, in[t]);
    __threadfence_block();
    atomicAdd(&done, 1);
  }
  if (t == 0) {
    while (atomicOr(&done, 0) < 127) {}
    __threadfence_block();
  }
  __syncthreads();
  if (t == 0) *out = sum;
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 1; k < 128; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[128], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  collect<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
