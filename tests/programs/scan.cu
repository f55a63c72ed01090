// Exclusive prefix sum over many blocks: a scan in each block, a scan of the block sums, and a last pass.
#include "program.h"

constexpr int THREADS = 256;

__global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *sums, int n) {
  __shared__ unsigned tile[2][THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x, from = 0;
  unsigned own = i < n ? in[i] : 0;
  tile[0][threadIdx.x] = own;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2, from ^= 1) {
    unsigned value = tile[from][threadIdx.x];
    if (threadIdx.x >= step) value += tile[from][threadIdx.x - step];
    tile[from ^ 1][threadIdx.x] = value;
    __syncthreads();
  }
  if (i < n) out[i] = tile[from][threadIdx.x] - own;
  if (threadIdx.x == THREADS - 1 && sums) sums[blockIdx.x] = tile[from][threadIdx.x];
}

__global__ void add_starts(unsigned *out, const unsigned *starts, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] += starts[blockIdx.x];
}

static void scan(const unsigned *in, unsigned *out, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks == 1) {
    scan_blocks<<<1, THREADS>>>(in, out, nullptr, n);
    return;
  }
  Buffer<unsigned> sums(blocks), starts(blocks);
  scan_blocks<<<blocks, THREADS>>>(in, out, sums.pointer, n);
  scan(sums.pointer, starts.pointer, blocks);
  add_starts<<<blocks, THREADS>>>(out, starts.pointer, n);
  after_launch();
}

int main() {
  const int n = 70001;
  Random random(3);
  std::vector<unsigned> in(n);
  for (unsigned &x : in) x = random.next() % 1000;
  Buffer<unsigned> device(in), result(n);
  scan(device.pointer, result.pointer, n);
  after_launch();
  std::vector<unsigned> out = result.read();
  size_t bad = 0;
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) {
    bad += out[i] != sum;
    sum += in[i];
  }
  return report("scan", n, bad, checksum(out));
}
