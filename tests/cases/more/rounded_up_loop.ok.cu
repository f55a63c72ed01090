// case: rounded_up_loop
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=96 grid=1
// why: the strided loop starts at the thread's index but runs to a bound rounded up to the block's width, so all threads make the same number of rounds
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sums(const int *in, int *out, int n) {
  __shared__ int s[96];
  int t = threadIdx.x, acc = 0, width = blockDim.x, end = (n + width - 1) / width * width;
  for (int i = t; i < end; i += width) {
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    acc += s[95 - t];
    __syncthreads();
  }
  out[t] = acc;
}
static int want(const int *in, int t) {
  int acc = 0;
  for (int i = 95 - t; i < 1000; i += 96) acc += in[i];
  return acc;
}
int main() {
  static int h_in[1000], h_out[96];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1000; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  sums<<<1, 96>>>(in, out, 1000);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 96; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 96, bad);
  return bad ? 2 : 0;
}
