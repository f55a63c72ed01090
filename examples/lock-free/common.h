// What the three programs share: error checks, and a clock of turns that fixes one interleaving.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));   \
      std::exit(3);                                                                          \
    }                                                                                        \
  } while (0)

// Blocks until `turn` steps of the interleaving are done. A null clock leaves the order to the card.
__device__ inline void await_turn(int *clock, int turn) {
  if (clock == nullptr) return;
  while (atomicAdd(clock, 0) < turn) {
  }
  __threadfence();
}

// Ends this step of the interleaving.
__device__ inline void end_turn(int *clock) {
  if (clock == nullptr) return;
  __threadfence();
  atomicAdd(clock, 1);
}

// Device memory that holds a copy of a host array and gives it back.
template <typename T, int N> struct OnDevice {
  T *pointer = nullptr;
  explicit OnDevice(const T (&host)[N]) {
    CHECK(cudaMalloc(&pointer, sizeof host));
    CHECK(cudaMemcpy(pointer, host, sizeof host, cudaMemcpyHostToDevice));
  }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;
  ~OnDevice() { cudaFree(pointer); }
  void read(T (&host)[N]) const { CHECK(cudaMemcpy(host, pointer, sizeof host, cudaMemcpyDeviceToHost)); }
};

inline void finish_launch() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

inline bool asked_for(int argc, char **argv, const char *word) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], word) == 0) return true;
  return false;
}

// Prints the verdict of one check and adds it to the program's exit code.
inline void verdict(const char *what, bool right, int &exit_code) {
  std::printf("%-32s %s\n", what, right ? "confirmed" : "MISMATCH");
  if (!right) exit_code = 1;
}
