// case: order_thread_fence_reduction
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=8
// why: the classic: partial sum, fence, ticket; the block with the last ticket adds up
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ unsigned arrived = 0;
__global__ void total(const int *in, volatile int *part, int *out) {
  __shared__ int s[128];
  __shared__ bool am_last;
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    unsigned ticket = atomicInc(&arrived, gridDim.x);
    am_last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (am_last) {
    int v = 0;
    for (int k = t; k < gridDim.x; k += 128) v += part[k];
    if (t < 8) atomicAdd(out, v);
    if (t == 0) arrived = 0;
  }
}
static int want(const int *in, int i) { int s = 0; for (int k = 0; k < 1024; ++k) s += in[k]; return s; }
int main() {
  static int h_in[1024], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1024; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *part;
  CK(cudaMalloc(&part, 8 * sizeof *part));
  CK(cudaMemset(part, 0, 8 * sizeof *part));
  total<<<8, 128>>>(in, part, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
