// case: syncwarp_in_half
// rule: warp-mask
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=64 grid=1
// why: only the lower 16 lanes execute a warp barrier that names all 32, the others wait for them at a block barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void half_rotate(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, lane = t % 32, v = in[t];
  s[t] = v;
  if (lane < 16) {  //~| lower half of each warp
    __syncwarp();  //~ warp-mask
    v = s[t - lane + ((lane + 1) & 15)];
  }
  __syncthreads();
  out[t] = v + s[63 - t];
}
static int want(const int *in, int i) {
  int lane = i % 32;
  return (lane < 16 ? in[i - lane + ((lane + 1) & 15)] : in[i]) + in[63 - i];
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  half_rotate<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
