// case: bounds_ballot_mask
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=2
// why: the lanes that return early are not in the mask, which was voted on before the return
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void left_neighbour(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned live = __ballot_sync(~0u, i < n);
  if (i >= n) return;
  int v = in[i], w = __shfl_up_sync(live, v, 1);
  out[i] = (threadIdx.x & 31) ? w : v;
}
static int want(const int *in, int i) { return i & 31 ? in[i - 1] : in[i]; }
int main() {
  static int h_in[200], h_out[200];
  int *in, *out, bad = 0;
  for (int i = 0; i < 200; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  left_neighbour<<<2, 128>>>(in, out, 200);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 200; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 200, bad);
  return bad ? 2 : 0;
}
