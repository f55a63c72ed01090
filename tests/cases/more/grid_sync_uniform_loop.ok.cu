// case: grid_sync_uniform_loop
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=4 (cooperative launch)
// why: the number of grid barriers depends on a parameter and on a value that all blocks load from one place
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void rotate(const int *in, int *a, int *b, int *out, int rounds) {
  cg::grid_group grid = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  a[i] = in[i];
  grid.sync();
  for (int r = 0; r < rounds + (in[3] & 1); ++r) {
    if (blockIdx.x == 1 && threadIdx.x < 32) b[i] = a[(i + 64) % n];
    else b[i] = a[(i + 64) % n];
    grid.sync();
    int *c = a;
    a = b;
    b = c;
  }
  out[i] = a[i];
}
static int want(const int *in, int i) { return in[(i + 64 * (3 + (in[3] & 1))) % 256]; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *a;
  CK(cudaMalloc(&a, 256 * sizeof *a));
  CK(cudaMemset(a, 0, 256 * sizeof *a));
  int *b;
  CK(cudaMalloc(&b, 256 * sizeof *b));
  CK(cudaMemset(b, 0, 256 * sizeof *b));
  const int *c_in = in;
  int rounds = 3;
  void *args[] = {&c_in, &a, &b, &out, &rounds};
  CK(cudaLaunchCooperativeKernel((const void *)rotate, dim3(4), dim3(64), args, 0, 0));
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
