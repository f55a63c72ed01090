// case: barrier_per_group
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=256 grid=1
// why: the barrier's id and count are computed from the thread's index, but all 64 threads of a group name the same ones
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ void group_barrier(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void groups(const int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x, g = t / 64, v = in[t];
  for (int r = 0; r < 3; ++r) {
    s[t] = v;
    group_barrier(1 + g, 64);
    int w = s[(t & ~63) + ((t + 16) & 63)];
    group_barrier(1 + g, 64);
    v += w;
  }
  out[t] = v;
}
static int want(const int *in, int i) {
  int v[64], w[64], b = i & ~63;
  for (int k = 0; k < 64; ++k) v[k] = in[b + k];
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 64; ++k) w[k] = v[k] + v[(k + 16) & 63];
    for (int k = 0; k < 64; ++k) v[k] = w[k];
  }
  return v[i & 63];
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  groups<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
