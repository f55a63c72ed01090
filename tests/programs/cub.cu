// Sum, prefix sum and sort by CUB and Thrust.
#include "program.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

// Calls an algorithm of CUB twice: the first time it says how much room it needs.
template <class Algorithm> void call(Algorithm algorithm) {
  size_t bytes = 0;
  CHECK(algorithm(nullptr, bytes));
  Buffer<char> room(bytes);
  CHECK(algorithm(room.pointer, bytes));
  after_launch();
}

int main() {
  const int n = 50000;
  Random random(11);
  std::vector<unsigned> values(n);
  for (unsigned &value : values) value = random.next();
  Buffer<unsigned> in(values), out(n);
  size_t bad = 0;

  call([&](void *room, size_t &bytes) { return cub::DeviceScan::InclusiveSum(room, bytes, in.pointer, out.pointer, n); });
  std::vector<unsigned> sums = out.read();
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) bad += sums[i] != (sum += values[i]);

  call([&](void *room, size_t &bytes) { return cub::DeviceReduce::Sum(room, bytes, in.pointer, out.pointer, n); });
  bad += out.read()[0] != sum;

  std::vector<unsigned> expected = values;
  std::sort(expected.begin(), expected.end());
  call([&](void *room, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(room, bytes, in.pointer, out.pointer, n); });
  std::vector<unsigned> sorted = out.read();
  for (int i = 0; i < n; ++i) bad += sorted[i] != expected[i];

  thrust::device_vector<unsigned> device(values.begin(), values.end());
  thrust::sort(device.begin(), device.end());
  thrust::copy(device.begin(), device.end(), sorted.begin());
  for (int i = 0; i < n; ++i) bad += sorted[i] != expected[i];
  return report("cub", 3 * n + 1, bad, checksum(sums));
}
