// case: tile_shfl_in_lane_branch
// rule: warp-mask
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=1
// why: only four lanes of each tile of 16 execute the tile's shuffle, which names all 16
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void tile_heads(const int *in, int *out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int t = threadIdx.x, v = in[t];
  if (tile.thread_rank() < 4)  //~| four lanes of sixteen
    v += tile.shfl_xor(v, 3);  //~ warp-mask
  out[t] = v;
}
static int want(const int *in, int i) { return i % 16 < 4 ? in[i] + in[i ^ 3] : in[i]; }
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  tile_heads<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
