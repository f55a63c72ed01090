// case: ho_counter_read_early
// rule: none
// why: the device is synchronised before the counter is read
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

__global__ void count_even(const int *data, int n, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && data[i] % 2 == 0) atomicAdd(count, 1);
}

int main() {
  const int n = 1024;
  int *data, *count;
  CK(cudaMallocManaged(&data, n * sizeof(int)));
  CK(cudaMallocManaged(&count, sizeof(int)));
  for (int i = 0; i < n; ++i) data[i] = i;
  *count = 0;
  count_even<<<n / 128, 128>>>(data, n, count);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  long bad = *count != n / 2;
  CK(cudaFree(data));
  CK(cudaFree(count));
  return verdict(n, bad);
}
