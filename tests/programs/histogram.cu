// Histogram of bytes: counts in shared memory first, then one atomic for each bin of a block.
#include "program.h"

constexpr int BINS = 256;

__global__ void histogram(const unsigned char *in, int n, unsigned *bins) {
  __shared__ unsigned mine[BINS];
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) mine[bin] = 0;
  __syncthreads();
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i * 4 + 3 < n; i += stride) {
    uchar4 four = ((const uchar4 *)in)[i];
    atomicAdd(&mine[four.x], 1u);
    atomicAdd(&mine[four.y], 1u);
    atomicAdd(&mine[four.z], 1u);
    atomicAdd(&mine[four.w], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    if (mine[bin]) atomicAdd(&bins[bin], mine[bin]);
}

int main() {
  const int n = 262144;
  Random random(4);
  std::vector<unsigned char> in(n);
  std::vector<unsigned> want(BINS, 0);
  for (unsigned char &x : in) {
    x = (unsigned char)((random.next() & random.next()) % BINS);
    ++want[x];
  }
  Buffer<unsigned char> device(in);
  Buffer<unsigned> bins(BINS);
  bins.clear();
  histogram<<<32, 192>>>(device.pointer, n, bins.pointer);
  after_launch();
  std::vector<unsigned> got = bins.read();
  size_t bad = 0;
  for (int bin = 0; bin < BINS; ++bin) bad += got[bin] != want[bin];
  return report("histogram", BINS, bad, checksum(got));
}
