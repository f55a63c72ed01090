// case: last_block_no_acquire
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=4
// why: the thread that counts puts a fence behind it, before the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void total(const int *in, int *part, int *out, unsigned *count) {
  __shared__ bool last;
  int t = threadIdx.x;
  part[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t] * 2;
  __threadfence();
  __syncthreads();
  if (t == 0) {
    last = atomicAdd(count, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (int b = 0; b < 4; ++b) sum += part[b * 64 + t];
  out[t] = sum;
}
static int want(const int *in, int i) { int s = 0; for (int b = 0; b < 4; ++b) s += in[b * 64 + i] * 2; return s; }
int main() {
  const int n = 256, m = 64;
  static int h_in[n], h_out[m];
  int *in, *out, *box, bad = 0;
  unsigned *aux;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&box, sizeof h_in));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(box, 0, sizeof h_in));
  CK(cudaMemset(aux, 0, 4096));
  total<<<4, 64>>>(in, box, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
