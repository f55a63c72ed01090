// case: divergent_work_between_barriers
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=1
// why: loops of different length, a switch and a lambda run between the barriers, each barrier itself is reached by all
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
template <class F> __device__ int repeat(int n, F f) {
  int r = 0;
  for (int i = 0; i < n; ++i) r = f(r, i);
  return r;
}
__global__ void busy(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x, v = in[t];
  int r = repeat(v % 13, [=](int a, int i) { return a * 2 + (v ^ i); });
  s[t] = r;
  __syncthreads();
  switch (s[127 - t] & 3) {
    case 0: r = 1; break;
    case 1: r += s[t ^ 1]; break;
    default:
      while (r > 100) r /= 3;
  }
  __syncthreads();
  s[t] = r;
  __syncthreads();
  if (t < 64) out[t] = s[t + 64];
  else out[t] = s[t - 64];
}
static int work(int v) {
  int r = 0;
  for (int i = 0; i < v % 13; ++i) r = r * 2 + (v ^ i);
  return r;
}
static int want(const int *in, int i) {
  int t = i ^ 64, r = work(in[t]);
  switch (work(in[127 - t]) & 3) {
    case 0: return 1;
    case 1: return r + work(in[t ^ 1]);
    default: while (r > 100) r /= 3;
  }
  return r;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  busy<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
