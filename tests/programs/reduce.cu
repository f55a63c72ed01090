// Sum and maximum of many numbers: shuffles in a warp, shared memory between warps, atomics between blocks.
#include "program.h"
#include <algorithm>

__device__ long long warp_sum(long long x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffu, x, offset);
  return x;
}

__device__ int warp_max(int x) {
  for (int offset = 16; offset > 0; offset /= 2) x = max(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

__global__ void reduce(const int *in, int n, unsigned long long *sum, int *largest) {
  __shared__ long long sums[32];
  __shared__ int maxima[32];
  long long mine = 0;
  int most = INT_MIN;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    mine += in[i];
    most = max(most, in[i]);
  }
  mine = warp_sum(mine);
  most = warp_max(most);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) {
    sums[warp] = mine;
    maxima[warp] = most;
  }
  __syncthreads();
  if (warp == 0) {
    int warps = blockDim.x / 32;
    mine = warp_sum(lane < warps ? sums[lane] : 0);
    most = warp_max(lane < warps ? maxima[lane] : INT_MIN);
    if (lane == 0) {
      atomicAdd(sum, (unsigned long long)mine);
      atomicMax(largest, most);
    }
  }
}

int main() {
  const int n = 100003;
  Random random(2);
  std::vector<int> in(n);
  long long want = 0;
  for (int &x : in) {
    x = (int)(random.next() % 2000003) - 1000000;
    want += x;
  }
  int largest = *std::max_element(in.begin(), in.end());
  Buffer<int> device(in), maximum(std::vector<int>{INT_MIN});
  Buffer<unsigned long long> sum(1);
  sum.clear();
  reduce<<<24, 256>>>(device.pointer, n, sum.pointer, maximum.pointer);
  after_launch();
  std::vector<unsigned long long> got = sum.read();
  std::vector<int> most = maximum.read();
  std::printf("sum %lld, largest %d\n", (long long)got[0], most[0]);
  return report("reduce", 2, ((long long)got[0] != want) + (most[0] != largest), checksum(got) ^ checksum(most));
}
