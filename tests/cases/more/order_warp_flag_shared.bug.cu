// case: order_warp_flag_shared
// rule: missing-release
// also: missing-acquire, shared-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=64 grid=1
// why: one warp hands a value to the other through shared memory with volatile accesses and no fence
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void whisper(const int *in, int *out) {
  __shared__ volatile int heard, word;
  int t = threadIdx.x;
  if (t == 0) heard = 0;
  __syncthreads();
  if (t == 32) {
    word = in[5] * 4;  //~| payload
    heard = 1;  //~ missing-release
  }
  if (t == 0) {
    while (heard == 0) {}  //~| the wait
    out[0] = word;  //~| payload load
  }
}
static int want(const int *in, int i) { return in[5] * 4; }
int main() {
  static int h_in[8], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 8; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  whisper<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
