// case: last_warp_shuffles
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=2
// why: the shuffles of all 32 lanes stand under a condition that is the same for a whole warp
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void max_of(const int *in, int *out) {
  __shared__ int top[4];
  int t = threadIdx.x, warp = t >> 5, lane = t & 31, v = in[blockIdx.x * 128 + t];
  for (int o = 16; o; o >>= 1) v = max(v, __shfl_xor_sync(0xffffffffu, v, o));
  if (lane == 0) top[warp] = v;
  __syncthreads();
  if (warp == 3) {
    v = lane < 4 ? top[lane] : 0;
    v = max(v, __shfl_down_sync(0xffffffffu, v, 2));
    v = max(v, __shfl_down_sync(0xffffffffu, v, 1));
    if (lane == 0) out[blockIdx.x] = v;
  }
}
static int want(const int *in, int b) {
  int m = 0;
  for (int k = 0; k < 128; ++k) m = in[b * 128 + k] > m ? in[b * 128 + k] : m;
  return m;
}
int main() {
  static int h_in[256], h_out[2];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  max_of<<<2, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 2; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 2, bad);
  return bad ? 2 : 0;
}
