// case: warp_ring_shared
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=128 grid=1
// why: each of four warps waits for the stamp of the next one before it writes its own
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ int read(const int *p) { return *(const volatile int *)p; }  //~| the polled load
__global__ void carousel(const int *in, int *out) {
  __shared__ int stamp[4], s[128];
  int t = threadIdx.x, w = t / 32, next = (w + 1) % 4;
  if (t < 4) stamp[t] = 0;
  __syncthreads();
  s[t] = in[t] + w;
  __syncwarp();
  if (t % 32 == 0) {
    while (read(&stamp[next]) == 0) {}  //~ wait-cycle
    __threadfence_block();
    *(volatile int *)&stamp[w] = 1;  //~| only after the next warp's stamp
  }
  __syncwarp();
  out[t] = s[next * 32 + t % 32];
}
static int want(const int *in, int i) {
  int w = (i / 32 + 1) % 4;
  return in[w * 32 + i % 32] + w;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  carousel<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
