// Three kernels that never return, each beside its mended twin. A hang is a wait cycle: who waits for whom?
#pragma once
#include <cuda_runtime.h>

// 1. Inside a block. Half of it hands a tile to the other half, with a barrier in the branch: 128 arrivals, 256
// expected. The barrier waits for the spinning half; that half waits for a write two lines below the barrier.

constexpr int kHalf = 128;

__global__ void handoff_bug(const int *in, int *out, int *flag) {
  __shared__ int tile[kHalf];
  int t = threadIdx.x;
  if (t < kHalf) {
    tile[t] = 3 * in[t];
    __syncthreads();
    if (t == 0)
      atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    out[t - kHalf] = tile[t - kHalf];
  }
}

// The barrier stands outside the branch: all 256 threads reach it, and no flag is needed.
__global__ void handoff_fix(const int *in, int *out, int *) {
  __shared__ int tile[kHalf];
  int t = threadIdx.x;
  if (t < kHalf)
    tile[t] = 3 * in[t];
  __syncthreads();
  if (t >= kHalf)
    out[t - kHalf] = tile[t - kHalf];
}

// Not a fix: with the flag set above the barrier nothing hangs any more, and the reads of the tile race with the
// writes of threads 1 to 127.
__global__ void handoff_race(const int *in, int *out, int *flag) {
  __shared__ int tile[kHalf];
  int t = threadIdx.x;
  if (t < kHalf) {
    tile[t] = 3 * in[t];
    if (t == 0)
      atomicExch(flag, 1);
    __syncthreads();
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    out[t - kHalf] = tile[t - kHalf];
  }
}

// 2. Across blocks. Each block counts itself in and waits for the others. That ends exactly while all blocks are on
// the card at once: blocks are not preempted, and one more than fit never starts.

__global__ void grid_barrier(int *data, int *out, int *count) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

// 3. Inside one thread. 0.1f is a little more than a tenth: ten steps give 1.00000012, never 1, and later the sum
// stops growing because adding 0.1f rounds back. The steps come from memory, so that no compiler folds the loop.

__global__ void steps_bug(const float *in, int n, int *steps, float *total) {
  float x = 0.0f;
  int count = 0;
  int i = threadIdx.x;
  while (x != 1.0f) {
    x += in[i % n];
    ++count;
  }
  steps[threadIdx.x] = count;
  total[threadIdx.x] = x;
}

__global__ void steps_fix(const float *in, int n, int *steps, float *total) {
  float x = 0.0f;
  int count = 0;
  int i = threadIdx.x;
  while (x < 1.0f) {
    x += in[i % n];
    ++count;
  }
  steps[threadIdx.x] = count;
  total[threadIdx.x] = x;
}
