// case: cg_scan_of_partition
// rule: none
// where: dynamic
// nvidia: completes
// launch: block=64 grid=1
// why: the library's scan takes all lanes together only where the group has all of them
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void ranks(const int *in, int *out) {
  int i = threadIdx.x;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, in[i]);
  out[i] = cg::inclusive_scan(same, 1);
  if (in[i] & 1) {
    auto odd = cg::coalesced_threads();
    out[i] += 100 * cg::exclusive_scan(odd, in[i]);
  }
}
int main() {
  const int n = 64;
  int h_in[n], h_out[n], *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = i * i % 7;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  ranks<<<1, n>>>(in, out);
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) {
    int rank = 0, odd = 0;
    for (int j = i / 32 * 32; j <= i; ++j) {
      rank += h_in[j] == h_in[i];
      if (j < i && (h_in[j] & 1)) odd += h_in[j];
    }
    bad += h_out[i] != rank + (h_in[i] & 1 ? 100 * odd : 0);
  }
  CK(cudaFree(in));
  CK(cudaFree(out));
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
