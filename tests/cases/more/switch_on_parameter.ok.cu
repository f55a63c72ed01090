// case: switch_on_parameter
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=2
// why: a switch and a jump on kernel parameters are taken the same way by all threads
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void modes(const int *in, int *out, int mode) {
  __shared__ int s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, v = in[i];
  switch (mode + blockIdx.x) {
    case 0: goto done;
    case 1:
      s[t] = v;
      __syncthreads();
      v = s[t ^ 1];
      break;
    case 2:
      s[t] = v * 2;
      __syncthreads();
      v = s[t ^ 2];
      __syncthreads();
      s[t] = v;
      // falls through
    default:
      __syncthreads();
      v += s[63 - t];
  }
done:
  out[i] = v;
}
static int want(const int *in, int i) {
  if (i < 64) return in[i ^ 1];
  int b = 64, t = i - b;
  return in[b + (t ^ 2)] * 2 + in[b + ((63 - t) ^ 2)] * 2;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  modes<<<2, 64>>>(in, out, 1);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
