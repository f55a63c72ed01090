// case: return_after_last_barrier
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=256 grid=4
// why: threads beyond the end load nothing but reach every barrier, and return only after the last one
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void diff(const int *in, int *out, int n) {
  __shared__ int s[257];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t + 1] = i < n ? in[i] : 0;
  if (t == 0) s[0] = i > 0 ? in[i - 1] : 0;
  __syncthreads();
  if (i >= n) return;
  int d = s[t + 1] - s[t];
  if (d < 0) {
    out[i] = -d;
    return;
  }
  out[i] = d;
}
static int want(const int *in, int i) {
  int d = in[i] - (i ? in[i - 1] : 0);
  return d < 0 ? -d : d;
}
int main() {
  static int h_in[1000], h_out[1000];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1000; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  diff<<<4, 256>>>(in, out, 1000);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1000; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1000, bad);
  return bad ? 2 : 0;
}
