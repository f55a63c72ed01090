// case: short_circuit_vote
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: the right side of && contains a block barrier and is evaluated only where the left side holds
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void guarded_vote(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  if (t < 64 && __syncthreads_or(v > 1000))  //~ divergent-barrier
    v = -v;
  out[t] = v;
}
static int want(const int *in, int i) {
  bool any = false;
  for (int k = 0; k < 64; ++k) any |= in[k] > 1000;
  return i < 64 && any ? -in[i] : in[i];
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  guarded_vote<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
