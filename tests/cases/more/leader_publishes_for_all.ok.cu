// case: leader_publishes_for_all
// rule: none
// where: both
// nvidia: completes
// launch: block=128 grid=2
// why: the leader of each warp sets the flag of its warp, behind a barrier of the warp
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void hand_over(const int *in, int *data, int *out, int *flags) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = in[t] * 3;
    __syncwarp();
    if (t % 32 == 0) {
      __threadfence();
      atomicExch(&flags[t / 32], 1);
    }
  } else {
    if (t % 32 == 0) {
      while (atomicAdd(&flags[t / 32], 0) == 0) {}
      __threadfence();
    }
    __syncwarp();
    out[t] = data[t];
  }
}
static int want(const int *in, int i) { return in[i] * 3; }
int main() {
  const int n = 128;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *flags;
  CK(cudaMalloc(&flags, 4 * sizeof *flags));
  CK(cudaMemset(flags, 0, 4 * sizeof *flags));
  int *data;
  CK(cudaMalloc(&data, 128 * sizeof *data));
  CK(cudaMemset(data, 0, 128 * sizeof *data));
  hand_over<<<2, 128>>>(in, data, out, flags);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
