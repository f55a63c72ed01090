// Bitonic sort: long distances through global memory, short ones inside a block.
#include "program.h"
#include <algorithm>

constexpr int THREADS = 256;

__device__ void exchange(unsigned &a, unsigned &b, bool up) {
  if ((a > b) == up) {
    unsigned t = a;
    a = b;
    b = t;
  }
}

__global__ void global_step(unsigned *values, int distance, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int low = 2 * distance * (t / distance) + t % distance;
  exchange(values[low], values[low + distance], (low & length) == 0);
}

__global__ void block_steps(unsigned *values, int first_length, int last_length) {
  __shared__ unsigned tile[2 * THREADS];
  int base = blockIdx.x * 2 * THREADS;
  tile[threadIdx.x] = values[base + threadIdx.x];
  tile[threadIdx.x + THREADS] = values[base + threadIdx.x + THREADS];
  for (int length = first_length; length <= last_length; length *= 2)
    for (int distance = min(length / 2, THREADS); distance > 0; distance /= 2) {
      __syncthreads();
      int low = 2 * distance * (threadIdx.x / distance) + threadIdx.x % distance;
      exchange(tile[low], tile[low + distance], ((base + low) & length) == 0);
    }
  __syncthreads();
  values[base + threadIdx.x] = tile[threadIdx.x];
  values[base + threadIdx.x + THREADS] = tile[threadIdx.x + THREADS];
}

int main() {
  const int n = 16384;
  Random random(5);
  std::vector<unsigned> in(n);
  for (unsigned &x : in) x = random.next();
  Buffer<unsigned> values(in);
  int blocks = n / (2 * THREADS);
  block_steps<<<blocks, THREADS>>>(values.pointer, 2, 2 * THREADS);
  for (int length = 4 * THREADS; length <= n; length *= 2) {
    for (int distance = length / 2; distance > THREADS; distance /= 2)
      global_step<<<blocks, THREADS>>>(values.pointer, distance, length);
    block_steps<<<blocks, THREADS>>>(values.pointer, length, length);
  }
  after_launch();
  std::vector<unsigned> out = values.read();
  std::sort(in.begin(), in.end());
  size_t bad = 0;
  for (int i = 0; i < n; ++i) bad += in[i] != out[i];
  return report("bitonic", n, bad, checksum(out));
}
