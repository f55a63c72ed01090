// case: order_flag_then_data
// rule: missing-release
// also: global-race
// h200: exit 2
// where: both
// nvidia: wrong-result
// launch: block=32 grid=2
// why: the producer raises the flag first and stores the payload after it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void courier(const int *in, int *parcel, int *out, int *bell) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0) {
      atomicExch(bell, 1);  //~ missing-release
      __threadfence();
      for (int k = 0; k < 32; ++k) parcel[k] = in[k] * 3;  //~| stored behind the flag
    }
  } else {
    if (t == 0) {
      while (atomicAdd(bell, 0) == 0) {}
      __threadfence();
    }
    __syncthreads();
    out[t] = parcel[t];
  }
}
static int want(const int *in, int i) { return in[i] * 3; }
int main() {
  static int h_in[32], h_out[32];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *parcel;
  CK(cudaMalloc(&parcel, 32 * sizeof *parcel));
  CK(cudaMemset(parcel, 0, 32 * sizeof *parcel));
  int *bell;
  CK(cudaMalloc(&bell, 1 * sizeof *bell));
  CK(cudaMemset(bell, 0, 1 * sizeof *bell));
  courier<<<2, 32>>>(in, parcel, out, bell);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 32, bad);
  return bad ? 2 : 0;
}
