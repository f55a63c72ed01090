// What the programs share: error checks, reproducible input, and a checksum of every byte of a result.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));   \
      std::exit(3);                                                                          \
    }                                                                                        \
  } while (0)

struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 2862933555777941757ull + 3037000493ull) {}
  uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
  }
  float unit() { return (float)(next() & 0xffff) / 65536.0f; }
};

template <typename T> struct Buffer {
  T *pointer = nullptr;
  size_t size;
  explicit Buffer(size_t n) : size(n) { CHECK(cudaMalloc(&pointer, n * sizeof(T))); }
  explicit Buffer(const std::vector<T> &host) : Buffer(host.size()) {
    CHECK(cudaMemcpy(pointer, host.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { cudaFree(pointer); }
  void clear() { CHECK(cudaMemset(pointer, 0, size * sizeof(T))); }
  std::vector<T> read() const {
    std::vector<T> host(size);
    CHECK(cudaMemcpy(host.data(), pointer, size * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
};

template <typename T> uint64_t checksum(const std::vector<T> &values) {
  uint64_t hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)values.data();
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

inline void after_launch() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

inline int report(const char *what, size_t elements, size_t mismatches, uint64_t sum) {
  std::printf("%s: elements=%zu mismatches=%zu checksum=%016llx\n", what, elements, mismatches,
              (unsigned long long)sum);
  return mismatches ? 2 : 0;
}
