// case: count_up_without_fence
// rule: missing-release
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=64 grid=5
// why: four blocks raise a counter right after their payload stores, the fifth waits for the count and reads all payloads
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void gather(const int *in, int *data, int *out, int *arrived) {
  int t = threadIdx.x, b = blockIdx.x;
  if (b < 4) {
    data[b * 64 + t] = in[b * 64 + t] + b;  //~| payload
    __syncthreads();
    if (t == 0) atomicAdd(arrived, 1);  //~ missing-release
  } else {
    if (t == 0) {
      while (*(volatile int *)arrived < 4) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    for (int k = 0; k < 4; ++k) out[k * 64 + t] = data[k * 64 + 63 - t];
  }
}
static int want(const int *in, int i) { return in[(i & ~63) + 63 - (i & 63)] + i / 64; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *data;
  CK(cudaMalloc(&data, 256 * sizeof *data));
  CK(cudaMemset(data, 0, 256 * sizeof *data));
  int *arrived;
  CK(cudaMalloc(&arrived, 1 * sizeof *arrived));
  CK(cudaMemset(arrived, 0, 1 * sizeof *arrived));
  gather<<<5, 64>>>(in, data, out, arrived);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
