// case: whole_warp_asked
// rule: none
// where: static
// nvidia: completes
// launch: block=64 grid=1
// why: the exchange is reached only where the mask of equal lanes names the whole warp, and by all of it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void share(const int *in, int *out) {
  int i = threadIdx.x, value = in[i];
  unsigned same = __match_any_sync(0xffffffffu, value);
  if (same == 0xffffffffu) {
    value += __shfl_xor_sync(0xffffffffu, value, 1);
  }
  out[i] = value;
}
int main() {
  const int n = 64;
  int h_in[2 * n], h_out[n], *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) {
    h_in[i] = i < 32 ? 7 : i;
    h_in[n + i] = 1;
  }
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  share<<<1, n>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != (i < 32 ? 14 : i);
  CK(cudaFree(in));
  CK(cudaFree(out));
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
