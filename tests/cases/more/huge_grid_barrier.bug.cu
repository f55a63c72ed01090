// case: huge_grid_barrier
// rule: grid-residency
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=256 grid=40000
// why: every block waits for the arrival of all 40000 blocks, far more than any card holds at once
// doubt: whether the grid fits depends on the card; no card holds 40000 blocks of 256 threads at once
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void two_phases(const int *in, int *part, int *out, unsigned *arrived) {
  int t = threadIdx.x;
  if (t == 0) {
    part[blockIdx.x] = in[blockIdx.x & 255];
    __threadfence();
    atomicAdd(arrived, 1u);  //~| blocks count themselves in
    while (atomicAdd(arrived, 0u) < gridDim.x) {}  //~ grid-residency
    __threadfence();
  }
  __syncthreads();
  if (blockIdx.x < 4 && t == 0) out[blockIdx.x] = part[gridDim.x - 1 - blockIdx.x];
}
static int want(const int *in, int i) { return in[(39999 - i) & 255]; }
int main() {
  static int h_in[256], h_out[4];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *part;
  CK(cudaMalloc(&part, 40000 * sizeof *part));
  CK(cudaMemset(part, 0, 40000 * sizeof *part));
  unsigned *arrived;
  CK(cudaMalloc(&arrived, 1 * sizeof *arrived));
  CK(cudaMemset(arrived, 0, 1 * sizeof *arrived));
  two_phases<<<40000, 256>>>(in, part, out, arrived);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
