// Half of a block hands values to the other half, and the block never ends.
//
//   standstill check examples/handoff.cu
//
// Compiled and run on a card, this program hangs: the watchdog of a test would have to kill it.
#include <cstdio>
#include <cuda_runtime.h>

// standstill: launch(block = 256, grid = 1)
__global__ void handoff(const float *in, float *out, int *flag) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  if (t < 128) {
    tile[t] = 2.0f * in[t];
    __syncthreads();
    if (t == 0)
      atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    out[t - 128] = tile[t - 128];
  }
}

int main() {
  float *in, *out;
  int *flag;
  if (cudaMallocManaged(&in, 128 * sizeof(float)) != cudaSuccess) return 1;
  if (cudaMallocManaged(&out, 128 * sizeof(float)) != cudaSuccess) return 1;
  if (cudaMallocManaged(&flag, sizeof(int)) != cudaSuccess) return 1;
  for (int i = 0; i < 128; ++i) in[i] = float(i);
  *flag = 0;
  handoff<<<1, 256>>>(in, out, flag);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  int mismatches = 0;
  for (int i = 0; i < 128; ++i) mismatches += out[i] != 2.0f * i;
  std::printf("elements=128 mismatches=%d\n", mismatches);
  return mismatches ? 2 : 0;
}
