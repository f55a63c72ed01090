// case: shared_verdict
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=192 grid=1
// why: thread 0 writes the condition to shared memory, a barrier later all threads read the same value
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__constant__ int limit = 500;
__global__ void judge(const int *in, int *out) {
  __shared__ int verdict, s[192];
  int t = threadIdx.x, v = in[t];
  s[t] = v;
  if (t == 0) verdict = in[17] < limit ? 2 : 0;
  __syncthreads();
  for (int r = 0; r < verdict; ++r) {
    int w = s[191 - t];
    __syncthreads();
    s[t] = w + r;
    __syncthreads();
  }
  if (limit > 100) {
    v = s[t];
    __syncthreads();
    s[t ^ 1] = v;
    __syncthreads();
  }
  out[t] = s[t];
}
static int want(const int *in, int i) { return in[17] < 500 ? in[i ^ 1] + 1 : in[i ^ 1]; }
int main() {
  static int h_in[192], h_out[192];
  int *in, *out, bad = 0;
  for (int i = 0; i < 192; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  judge<<<1, 192>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 192; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 192, bad);
  return bad ? 2 : 0;
}
