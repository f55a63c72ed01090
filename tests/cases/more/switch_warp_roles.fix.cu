// case: switch_warp_roles
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: the roles only prepare a value, one barrier stands behind the switch
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void roles(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x, v = in[t];
  switch (t >> 5) {
    case 0:
      s[t] = v + 1;
      break;
    case 1:
      s[t] = v * 2;
      break;
    default:
      s[t] = v;
  }
  __syncthreads();
  out[t] = s[t ^ 1];
}
static int want(const int *in, int i) {
  int j = i ^ 1;
  return j < 32 ? in[j] + 1 : j < 64 ? in[j] * 2 : in[j];
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  roles<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
