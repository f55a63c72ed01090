// case: three_producer_warps
// rule: barrier-count
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=256 grid=1
// why: the barrier counts 256 threads, but of the producers only three warps arrive: 96 + 128
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void handoff(const int *in, int *out) {
  __shared__ int buf[128];
  int warp = threadIdx.x >> 5, u = threadIdx.x & 127;
  if (warp >= 4) {
    buf[u] = in[u] + 2;
    if (warp < 7) asm volatile("barrier.arrive 7, 256;" ::: "memory");  //~| warp 7 does not arrive
  } else {
    asm volatile("barrier.sync 7, 256;" ::: "memory");  //~ barrier-count
    out[u] = buf[u ^ 5];
  }
}
static int want(const int *in, int i) { return in[i ^ 5] + 2; }
int main() {
  static int h_in[256], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  handoff<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
