// case: ho_managed_refill
// rule: none
// why: the device is synchronised before the memory is filled again
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CK(call)                                                                    \
  do {                                                                              \
    cudaError_t err_ = (call);                                                      \
    if (err_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

static int verdict(long n, long bad) {
  std::printf("elements=%ld mismatches=%ld\n", n, bad);
  return bad == 0 ? 0 : 2;
}

__global__ void square(const int *from, int *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * from[i];
}

int main() {
  const int n = 1300;
  int *from, *to;
  CK(cudaMallocManaged(&from, n * sizeof(int)));
  CK(cudaMallocManaged(&to, 2 * n * sizeof(int)));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < n; ++i) from[i] = i % 100 + round;
    square<<<(n + 127) / 128, 128>>>(from, to + round * n, n);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
  }
  CK(cudaDeviceSynchronize());

  long bad = 0;
  for (int i = 0; i < 2 * n; ++i) {
    int value = i % n % 100 + i / n;
    bad += to[i] != value * value;
  }
  CK(cudaFree(from));
  CK(cudaFree(to));
  return verdict(2 * n, bad);
}
