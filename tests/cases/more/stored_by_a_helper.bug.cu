// case: stored_by_a_helper
// rule: missing-release
// h200: exit 0
// where: both
// nvidia: may give wrong numbers
// launch: block=64 grid=2
// why: the payload is stored by a function that is not inlined, and nothing orders it before the flag
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __noinline__ void put(const int *in, int *data, int t) { data[t] = in[t] * 3; }  //~| the payload
__global__ void publish(const int *in, int *data, volatile int *flag, int *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    put(in, data, t);
    __syncthreads();
    if (t == 0) *flag = 1;  //~ missing-release
  } else {
    if (t == 0) {
      while (*flag == 0) {}
      __threadfence();
    }
    __syncthreads();
    out[t] = data[t];
  }
}
static int want(const int *in, int i) { return in[i] * 3; }
int main() {
  const int n = 64, m = 64;
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
  publish<<<2, 64>>>(in, box, (int *)aux, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
