// case: warps_leave_then_named
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=128 grid=1
// why: two warps return early, the other two go on with a named barrier that counts exactly them
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void tail(const int *in, int *out) {
  __shared__ int s[128], sums[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t >= 64) {
    out[t] = s[t - 64];
    return;
  }
  int v = s[t] + s[t + 64];
  asm volatile("bar.sync 1, 64;" ::: "memory");
  sums[t] = v;
  asm volatile("bar.sync 1, 64;" ::: "memory");
  out[t] = sums[63 - t];
}
static int want(const int *in, int i) { return i >= 64 ? in[i - 64] : in[63 - i] + in[127 - i]; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  tail<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
