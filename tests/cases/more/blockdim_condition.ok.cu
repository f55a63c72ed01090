// case: blockdim_condition
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=2
// why: the barrier's condition compares the block's width with a constant, which is the same for all threads
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void maybe_stage(const int *in, int *out) {
  __shared__ int s[1024];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, v = in[i];
  if (blockDim.x > 64) {
    s[t] = v;
    __syncthreads();
    v = s[blockDim.x - 1 - t];
  }
  if (blockDim.y * gridDim.y == 1 && gridDim.x < 100) {
    __syncthreads();
    s[t] = v + 1;
    __syncthreads();
    v = s[t ^ 1];
  }
  out[i] = v;
}
static int want(const int *in, int i) { return in[(i & 128) + 127 - ((i & 127) ^ 1)] + 1; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  maybe_stage<<<2, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
