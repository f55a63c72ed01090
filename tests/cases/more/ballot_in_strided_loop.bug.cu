// case: ballot_in_strided_loop
// rule: warp-mask
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=1
// why: 100 elements in steps of 32: in the last round only lanes 0-3 are in the loop while the mask of the ballot names all lanes
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void count_above(const int *in, int *out, int n, int limit) {
  int lane = threadIdx.x, total = 0;
  for (int i = lane; i < n; i += 32)  //~| lanes leave the loop one round apart
    total += __popc(__ballot_sync(0xffffffffu, in[i] > limit));  //~ warp-mask
  if (lane == 0) *out = total;
}
static int want(const int *in, int) {
  int n = 0;
  for (int i = 0; i < 100; ++i) n += in[i] > 500;
  return n;
}
int main() {
  static int h_in[100], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 100; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  count_above<<<1, 32>>>(in, out, 100, 500);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
