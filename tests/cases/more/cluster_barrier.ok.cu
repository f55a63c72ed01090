// case: cluster_barrier
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=4 cluster=2
// why: the cluster barriers stand under conditions that are the same for both blocks of a cluster
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void __cluster_dims__(2, 1, 1) exchange(const int *in, int *out, int rounds) {
  __shared__ int s[64];
  cg::cluster_group cluster = cg::this_cluster();
  int t = threadIdx.x, i = blockIdx.x * 64 + t, v = in[i];
  unsigned other = cluster.block_rank() ^ 1;
  for (int r = 0; r < rounds + (int)(blockIdx.x / 2); ++r) {
    s[t] = v;
    cluster.sync();
    v = *cluster.map_shared_rank(&s[63 - t], other) + 1;
    cluster.sync();
  }
  out[i] = v;
}
static int want(const int *in, int i) {
  int n = 1 + i / 128, j = i;
  for (int k = 0; k < n; ++k) j = ((j / 64) ^ 1) * 64 + 63 - j % 64;
  return in[j] + n;
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  exchange<<<4, 64>>>(in, out, 1);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
