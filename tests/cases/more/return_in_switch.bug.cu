// case: return_in_switch
// rule: early-exit-barrier
// also: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: one case of a switch over the thread's value returns, the others meet at a barrier behind the switch
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void classify(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x, v = in[t];
  s[t] = 0;
  __syncthreads();
  switch (v % 5) {
    case 0:
      out[t] = -1;
      return;  //~| a fifth of the threads
    case 1: s[t] = v; break;
    case 2: s[t] = v * 2; break;
    default: s[t] = v + 1;
  }
  __syncthreads();  //~ early-exit-barrier
  out[t] = s[t ^ 1];
}
static int want(const int *in, int i) {
  int w = in[i ^ 1], m = w % 5;
  return in[i] % 5 == 0 ? -1 : m == 0 ? 0 : m == 1 ? w : m == 2 ? w * 2 : w + 1;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  classify<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
