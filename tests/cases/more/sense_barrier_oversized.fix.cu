// case: sense_barrier_oversized
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=1024 grid=4
// why: four blocks fit at once on every card
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
struct Barrier {
  unsigned count, generation;
};
__device__ __noinline__ void sync_grid(Barrier *b) {
  __syncthreads();
  if (threadIdx.x == 0) {
    volatile unsigned *generation = &b->generation;
    unsigned seen = *generation;
    __threadfence();
    if (atomicAdd(&b->count, 1u) == gridDim.x - 1) {
      b->count = 0;
      __threadfence();
      *generation = seen + 1;
    } else {
      while (*generation == seen) {}
    }
    __threadfence();
  }
  __syncthreads();
}
__global__ void rounds(const int *in, int *tmp, int *out, Barrier *bar) {
  if (threadIdx.x == 0) tmp[blockIdx.x] = in[blockIdx.x & 255];
  sync_grid(bar);
  int v = tmp[(blockIdx.x + 1) % gridDim.x];
  sync_grid(bar);
  if (blockIdx.x < 4 && threadIdx.x == 0) out[blockIdx.x] = v;
}
static int want(const int *in, int i) { return in[(i + 1) % 4]; }
int main() {
  static int h_in[256], h_out[4];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *tmp;
  CK(cudaMalloc(&tmp, 32768 * sizeof *tmp));
  CK(cudaMemset(tmp, 0, 32768 * sizeof *tmp));
  Barrier *bar;
  CK(cudaMalloc(&bar, 1 * sizeof *bar));
  CK(cudaMemset(bar, 0, 1 * sizeof *bar));
  rounds<<<4, 1024>>>(in, tmp, out, bar);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 4, bad);
  return bad ? 2 : 0;
}
