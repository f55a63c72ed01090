// case: named_full_empty_nothing_free
// rule: barrier-count
// also: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=192 grid=2
// why: no stage is declared free at the start: the producer waits for the empty barrier of stage 0, the consumers for its full barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
constexpr int kStages = 3, kTile = 128, kProducers = 64, kConsumers = 128, kAll = kProducers + kConsumers;
__device__ __forceinline__ void named_sync(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }  //~| the waiting operation
__device__ __forceinline__ void named_arrive(int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ __forceinline__ int full(int stage) { return 1 + stage; }
__device__ __forceinline__ int empty(int stage) { return 1 + kStages + stage; }
__global__ void pipeline(const int *in, int *out, int tiles) {
  __shared__ int ring[kStages][kTile];
  int t = threadIdx.x;
  const int *src = in + blockIdx.x * tiles * kTile;
  if (t < kProducers) {
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      int stage = k % kStages;
      named_sync(empty(stage), kAll);  //~ barrier-count
      for (int i = t; i < kTile; i += kProducers) ring[stage][i] = src[k * kTile + i];
      named_arrive(full(stage), kAll);
    }
  } else {
    int u = t - kProducers, acc = 0;
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      int stage = k % kStages;
      named_sync(full(stage), kAll);  //~| the consumers wait here
      acc = acc * 2 + ring[stage][kTile - 1 - u];
      if (k + kStages < tiles) named_arrive(empty(stage), kAll);
    }
    out[blockIdx.x * kConsumers + u] = acc;
  }
}
static int want(const int *in, int i) {
  int acc = 0;
  for (int k = 0; k < 6; ++k) acc = acc * 2 + in[(i / 128 * 6 + k) * 128 + 127 - i % 128];
  return acc;
}
int main() {
  static int h_in[1536], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1536; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  pipeline<<<2, 192>>>(in, out, 6);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
