// case: livelock_neighbours_swap
// rule: none
// where: dynamic
// nvidia: completes
// launch: block=64 grid=1
// why: the larger colour stays
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void spread(const int *in, int *out, int *) {
  __shared__ int colour[64];
  __shared__ int changed;
  int t = threadIdx.x;
  colour[t] = in[t];
  __syncthreads();
  bool again = true;
  while (again) {
    if (t == 0) changed = 0;
    __syncthreads();
    int other = colour[t ^ 1];
    __syncthreads();
    if (colour[t] < other) {
      colour[t] = other;
      atomicExch(&changed, 1);
    }
    __syncthreads();
    again = changed != 0;
    __syncthreads();
  }
  out[t] = colour[t];
}
static int want(const int *in, int i) { int a = in[i], b = in[i ^ 1]; return a > b ? a : b; }
int main() {
  const int n = 64;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 1 * sizeof *word));
  CK(cudaMemset(word, 0, 1 * sizeof *word));
  spread<<<1, 64>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
