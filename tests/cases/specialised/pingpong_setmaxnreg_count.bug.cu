// case: pingpong_setmaxnreg_count
// rule: barrier-count
// also: wait-cycle
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=384 grid=1
// flags: -arch=sm_90a
// why: the turn barriers count all three groups, but only the two consumer groups use them: 256 of 384 arrivals
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
constexpr int kStages = 2, kTile = 128, kGroup = 128, kPair = 3 * kGroup, kAll = 3 * kGroup;
enum Id { kFull = 1, kEmpty = kFull + kStages, kTurn = kEmpty + kStages };
__device__ __forceinline__ void named_sync(int id, int count) { asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(count) : "memory"); }  //~| the waiting operation
__device__ __forceinline__ void named_arrive(int id, int count) { asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(count) : "memory"); }  //~| the arriving operation
__global__ __launch_bounds__(384, 1) void pingpong(const int *in, int *out, int *log, int tiles) {
  __shared__ int ring[kStages][kTile];
  __shared__ int turns;
  int group = threadIdx.x / kGroup, u = threadIdx.x % kGroup;
  if (threadIdx.x == 0) turns = 0;
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int k = 0; k < tiles; ++k) {
      int stage = k % kStages;
      named_sync(kEmpty + stage, kAll);
      ring[stage][u] = in[k * kTile + u];
      named_arrive(kFull + stage, kAll);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    int me = group - 1, acc = 0;
    for (int s = 0; s < kStages; ++s)
      if (s < tiles) named_arrive(kEmpty + s, kAll);
    if (me == 1) named_arrive(kTurn + 0, kPair);
    for (int k = 0; k < tiles; ++k) {
      int stage = k % kStages;
      named_sync(kFull + stage, kAll);
      acc = acc * 3 + ring[stage][me ? kTile - 1 - u : u];
      if (k + kStages < tiles) named_arrive(kEmpty + stage, kAll);
      named_sync(kTurn + me, kPair);  //~ barrier-count
      if (u == 0) log[turns++] = me;
      if (me == 0 || k + 1 < tiles) named_arrive(kTurn + (me ^ 1), kPair);  //~| the other arrivals
    }
    out[me * kGroup + u] = acc;
  }
}
static int want(const int *in, int i) {
  int acc = 0;
  for (int k = 0; k < 6; ++k) acc = acc * 3 + in[k * 128 + (i < 128 ? i : 255 - i)];
  return acc;
}
int main() {
  static int h_in[1024], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1024; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *log;
  CK(cudaMalloc(&log, 12 * sizeof *log));
  CK(cudaMemset(log, 0, 12 * sizeof *log));
  pingpong<<<1, 384>>>(in, out, log, 6);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
