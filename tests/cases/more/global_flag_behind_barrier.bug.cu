// case: global_flag_behind_barrier
// rule: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=256 grid=1
// why: threads 0-127 wait at the block barrier for the upper half, which spins on a flag that thread 0 sets only behind that barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void relay(const int *in, int *out, int *flag) {
  __shared__ int tile[128];
  int t = threadIdx.x, u = t & 127;
  if (t < 128) {
    tile[u] = in[u] + 5;
    __syncthreads();  //~ wait-cycle
    if (t == 0) {
      __threadfence();
      atomicExch(flag, 1);  //~| the only write of the flag
    }
  } else {
    while (atomicAdd(flag, 0) == 0) {}  //~| waits for that write
    __threadfence();
  }
  out[t] = tile[127 - u];
}
static int want(const int *in, int i) { return in[127 - (i & 127)] + 5; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *flag;
  CK(cudaMalloc(&flag, 1 * sizeof *flag));
  CK(cudaMemset(flag, 0, 1 * sizeof *flag));
  relay<<<1, 256>>>(in, out, flag);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
