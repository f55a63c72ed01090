// Instantiates many CUB device algorithms over several types, to get a large PTX file of real library code:
//   nvcc -ptx -arch=sm_90 -std=c++17 cub_heavy.cu -o cub_heavy.ptx          (add -lineinfo for line tables)
// Nothing here is meant to be run: only the instantiations matter.
#include <cub/cub.cuh>
#include <cstdint>

struct Pair {
  float weight;
  int item;
};
struct ByItem {
  __host__ __device__ bool operator()(const Pair &a, const Pair &b) const { return a.item < b.item; }
};
struct Less {
  template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};
struct IsOdd {
  template <class T> __host__ __device__ bool operator()(const T &a) const { return static_cast<long long>(a) & 1; }
};
struct Larger {
  template <class T> __host__ __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};

template <class K> void sort_keys(void *tmp, size_t &bytes, K *in, K *out, int n) {
  cub::DeviceRadixSort::SortKeys(tmp, bytes, in, out, n);
  cub::DeviceRadixSort::SortKeysDescending(tmp, bytes, in, out, n);
}
template <class K, class V> void sort_pairs(void *tmp, size_t &bytes, K *in, K *out, V *vin, V *vout, int n) {
  cub::DeviceRadixSort::SortPairs(tmp, bytes, in, out, vin, vout, n);
}
template <class T> void scans(void *tmp, size_t &bytes, T *in, T *out, int n) {
  cub::DeviceScan::InclusiveSum(tmp, bytes, in, out, n);
  cub::DeviceScan::ExclusiveSum(tmp, bytes, in, out, n);
  cub::DeviceScan::InclusiveScan(tmp, bytes, in, out, Larger{}, n);
}
template <class T> void reductions(void *tmp, size_t &bytes, T *in, T *out, int n) {
  cub::DeviceReduce::Sum(tmp, bytes, in, out, n);
  cub::DeviceReduce::Max(tmp, bytes, in, out, n);
  cub::DeviceReduce::Reduce(tmp, bytes, in, out, n, Larger{}, T{});
}
template <class T> void selections(void *tmp, size_t &bytes, T *in, T *out, unsigned char *flags, int *count, int n) {
  cub::DeviceSelect::Flagged(tmp, bytes, in, flags, out, count, n);
  cub::DeviceSelect::If(tmp, bytes, in, out, count, n, IsOdd{});
  cub::DeviceSelect::Unique(tmp, bytes, in, out, count, n);
  cub::DevicePartition::If(tmp, bytes, in, out, count, n, IsOdd{});
}
template <class T> void runs(void *tmp, size_t &bytes, T *in, T *out, int *lengths, int *count, int n) {
  cub::DeviceRunLengthEncode::Encode(tmp, bytes, in, out, lengths, count, n);
  cub::DeviceReduce::ReduceByKey(tmp, bytes, in, out, lengths, lengths + n, count, Larger{}, n);
}
template <class T> void segments(void *tmp, size_t &bytes, T *in, T *out, int *vin, int *vout, int n, int m, int *at) {
  cub::DeviceSegmentedReduce::Sum(tmp, bytes, in, out, m, at, at + 1);
  cub::DeviceSegmentedSort::SortKeys(tmp, bytes, in, out, n, m, at, at + 1);
  cub::DeviceSegmentedSort::SortPairs(tmp, bytes, in, out, vin, vout, n, m, at, at + 1);
  cub::DeviceSegmentedRadixSort::SortKeys(tmp, bytes, in, out, n, m, at, at + 1);
}
template <class T> void histograms(void *tmp, size_t &bytes, T *in, int *bins, int n) {
  cub::DeviceHistogram::HistogramEven(tmp, bytes, in, bins, 129, T(0), T(127), n);
}
template <class T, class L> void merges(void *tmp, size_t &bytes, T *in, int n, L less) {
  cub::DeviceMergeSort::SortKeys(tmp, bytes, in, n, less);
  cub::DeviceMergeSort::StableSortKeys(tmp, bytes, in, n, less);
}

void everything(void *tmp, size_t &bytes, void *a, void *b, int *i, int *j, int n, int m) {
#define P(T) static_cast<T *>(a), static_cast<T *>(b)
  auto *flags = static_cast<unsigned char *>(tmp);
  sort_keys(tmp, bytes, P(uint8_t), n);
  sort_keys(tmp, bytes, P(uint32_t), n);
  sort_keys(tmp, bytes, P(int64_t), n);
  sort_keys(tmp, bytes, P(float), n);
  sort_pairs(tmp, bytes, P(uint32_t), i, j, n);
  sort_pairs(tmp, bytes, P(double), i, j, n);
  scans(tmp, bytes, P(int), n);
  scans(tmp, bytes, P(int64_t), n);
  scans(tmp, bytes, P(float), n);
  scans(tmp, bytes, P(double), n);
  reductions(tmp, bytes, P(int), n);
  reductions(tmp, bytes, P(int64_t), n);
  reductions(tmp, bytes, P(float), n);
  reductions(tmp, bytes, P(double), n);
  selections(tmp, bytes, P(int), flags, i, n);
  selections(tmp, bytes, P(int64_t), flags, i, n);
  selections(tmp, bytes, P(uint8_t), flags, i, n);
  runs(tmp, bytes, P(int), i, j, n);
  runs(tmp, bytes, P(int64_t), i, j, n);
  segments(tmp, bytes, P(int), i, j, n, m, i);
  segments(tmp, bytes, P(float), i, j, n, m, i);
  histograms(tmp, bytes, static_cast<int *>(a), j, n);
  histograms(tmp, bytes, static_cast<float *>(a), j, n);
  histograms(tmp, bytes, static_cast<uint8_t *>(a), j, n);
  merges(tmp, bytes, static_cast<int *>(a), n, Less{});
  merges(tmp, bytes, static_cast<int64_t *>(a), n, Less{});
  merges(tmp, bytes, static_cast<Pair *>(a), n, ByItem{});
#undef P
}
